"""Random crop, flip and normalisation, as ImageNet is trained: of one image, or of a batch."""

import torch
from torch import Tensor
from torchvision.transforms import v2  # type: ignore[import-untyped]
from torchvision.transforms.v2 import functional as F  # type: ignore[import-untyped]

from workloads.stream import seeded

MEAN = (0.485, 0.456, 0.406)  # of ImageNet's red, green and blue
STD = (0.229, 0.224, 0.225)


def stored_side(pixels: int) -> int:
    """Shorter side that images are shrunk to before they are cropped to `pixels`: 256 for 224."""
    return round(pixels * 256 / 224)


def augmentation(pixels: int) -> v2.Compose:
    """Random crop and flip of an RGB image to a normalised float32 tensor (3, pixels, pixels).

    Draws from torch's CPU generator.
    """
    return v2.Compose(
        [
            v2.RandomResizedCrop(pixels, antialias=True),
            v2.RandomHorizontalFlip(),
            v2.ToImage(),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize(MEAN, STD),
        ]
    )


def shrinking(pixels: int) -> v2.Compose:
    """What the loader does where the device augments: one size for all, uint8 (3, side, side)."""
    side = stored_side(pixels)
    return v2.Compose([v2.Resize(side, antialias=True), v2.CenterCrop(side), v2.ToImage()])


def augment_batch(images: Tensor | list[Tensor], pixels: int, seed: int) -> Tensor:
    """As `augmentation`, of a whole batch, on the device where it is.

    Each image is cropped for itself, as v2 would give all of a batch the same crop; all else is
    done to the batch at once.

    Args:
        images: uint8, (batch, 3, height, width), or (3, height, width) each in its own size.
        seed: of the random numbers; the caller's generator is left alone.

    Returns:
        float32 (batch, 3, pixels, pixels).
    """
    crop = v2.RandomResizedCrop(pixels, antialias=True)
    with seeded(seed):
        cropped = torch.stack([crop(image) for image in images])
        flipped = torch.rand(len(images), 1, 1, 1) < 0.5
    flipped = flipped.to(cropped.device, non_blocking=True)
    batch = torch.where(flipped, cropped.flip(-1), cropped)
    normal: Tensor = F.normalize(F.to_dtype(batch, torch.float32, scale=True), MEAN, STD)
    return normal
