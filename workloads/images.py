"""Image classification from JPEG files: read, decode, crop, flip, normalise, as ImageNet is."""

from pathlib import Path

import torch
from PIL import Image
from torch import Tensor
from torch.utils.data import Dataset
from torchvision.datasets import ImageFolder  # type: ignore[import-untyped]
from torchvision.transforms import v2  # type: ignore[import-untyped]

from workloads import pictures
from workloads.stream import item_at, seeded
from workloads.workload import Source, WorkloadError

OUTPUTS = 1000  # classes that the models can tell apart, ImageNet's number
MEAN = (0.485, 0.456, 0.406)  # of ImageNet's red, green and blue
STD = (0.229, 0.224, 0.225)


class Images(Dataset[tuple[Tensor, int]]):
    """Endless stream of (image (3, pixels, pixels) float32, class index).

    Args:
        source: where a user's ImageFolder is, or generated files go.
        pixels: edge of the square that the model sees.
        count: number of images to generate; a user's folder is taken whole.

    Raises:
        WorkloadError: the user's folder is no ImageFolder, or has more classes than the models.
    """

    def __init__(self, source: Source, *, pixels: int, count: int) -> None:
        self.files = list_files(source.images or pictures.generate(source.cache, count))
        self.transform = augmentation(pixels)

    def __getitem__(self, position: int) -> tuple[Tensor, int]:
        path, label = self.files[item_at(position, len(self.files))]
        image = decode(Path(path))
        with seeded(position):
            return self.transform(image), label


def list_files(folder: Path) -> list[tuple[str, int]]:
    """Paths and class indices of an ImageFolder, sorted by class and name."""
    try:
        found = ImageFolder(folder)
    except OSError as error:
        raise WorkloadError(
            f"no images in {folder}: want one folder of images per class ({error})"
        ) from error
    if len(found.classes) > OUTPUTS:
        raise WorkloadError(
            f"{folder} has {len(found.classes)} classes, the models tell {OUTPUTS} apart: "
            "give fewer folders"
        )
    samples: list[tuple[str, int]] = found.samples
    return samples


def decode(path: Path) -> Image.Image:
    """The image in a file, RGB.

    Raises:
        WorkloadError: it cannot be read.
    """
    try:
        with Image.open(path) as image:
            return image.convert("RGB")
    except OSError as error:
        raise WorkloadError(f"cannot read image {path}: remove or replace it ({error})") from error


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
