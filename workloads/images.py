"""Image classification from JPEG files: read, decode, crop, flip, normalise, as ImageNet is."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import Dataset, default_collate
from torchvision.datasets import ImageFolder  # type: ignore[import-untyped]

from workloads import pictures
from workloads.augmentation import augment_batch, augmentation, shrinking, stored_side
from workloads.decoders import LOADER_DECODERS, Tally, encoded, on_device, size_of
from workloads.resized import is_resized, shrink_once
from workloads.stream import item_at, seeded
from workloads.workload import Source, WorkloadError

OUTPUTS = 1000  # classes that the models can tell apart, ImageNet's number


class Images(Dataset[tuple[Tensor, int]]):
    """Endless stream of (image (3, pixels, pixels) float32, class index).

    Args:
        source: where a user's ImageFolder is, or generated files go.
        pixels: edge of the square that the model sees.
        count: number of images to generate; a user's folder is taken whole.
        decode: "pil", "torchvision", or "device": an item is then a file's bytes, and `finish`
            decodes a batch of them; needs augment="device".
        augment: "loader", or "device": an item is then a uint8 image that only was shrunk, and
            `finish` crops, flips and normalises a batch of them.
        images: "as_stored", or "resized": shrunk once to little more than `pixels`.

    Raises:
        WorkloadError: the user's folder is no ImageFolder, or has more classes than the models.
    """

    def __init__(
        self,
        source: Source,
        *,
        pixels: int,
        count: int,
        decode: str = "pil",
        augment: str = "loader",
        images: str = "as_stored",
    ) -> None:
        if (decode, augment) == ("device", "loader"):
            raise WorkloadError("what the device decodes it must augment: it does not come back")
        folder = source.images or pictures.generate(source.cache, count)
        self.files = list_files(folder)
        self.stored_side = stored_side(pixels)
        if images == "resized":
            paths = [path for path, _ in self.files]
            self.files = list_files(shrink_once(source.cache, folder, paths, self.stored_side))
        self.pixels = pixels
        self.decode = decode
        self.augment = augment
        self.transform = augmentation(pixels) if augment == "loader" else shrinking(pixels)
        self.tally = Tally()

    def __getitem__(self, position: int) -> tuple[Tensor, int]:
        name, label = self.files[item_at(position, len(self.files))]
        path = Path(name)
        if is_resized(path):
            self.tally.count("resized_files")
        if self.decode == "device":
            return encoded(path), label
        image = LOADER_DECODERS[self.decode](path)
        self.tally.count(self.decode)
        self.tally.at_least("shorter_side", min(size_of(image)))
        with seeded(position):
            return self.transform(image), label

    @property
    def collate(self) -> Callable[[list[Any]], Any] | None:
        """How items become a batch, where they are of unequal size."""
        return collate_files if self.decode == "device" else None

    @property
    def finish(self) -> "Callable[[Any, torch.device, int], Tensor] | None":
        """What the loader left over: from a batch of inputs to what the model takes, on a device.

        Called with the inputs, the device, and a seed of its own for every batch.
        """
        return self._finish if self.augment == "device" else None

    def _finish(self, inputs: Any, device: torch.device, seed: int) -> Tensor:
        if self.decode == "device":
            inputs = on_device(inputs, device)
            self.tally.count("device", len(inputs))
            self.tally.at_least("shorter_side", max(min(size_of(image)) for image in inputs))
        return augment_batch(inputs, self.pixels, seed)


def collate_files(items: list[tuple[Tensor, int]]) -> tuple[list[Tensor], Tensor]:
    """Files in a list, labels (batch,)."""
    return [file for file, _ in items], default_collate([label for _, label in items])


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
