"""From an image file to pixels, in one of three ways, and a tally of which of them really ran."""

from collections.abc import Callable, Mapping
from pathlib import Path

import torch
from PIL import Image
from torch import Tensor
from torchvision.io import (  # type: ignore[import-untyped]
    ImageReadMode,
    decode_image,
    decode_jpeg,
    read_file,
)

from workloads.workload import WorkloadError

Picture = Image.Image | Tensor  # a Tensor is uint8, (3, height, width)


class Tally:
    """What happened to images, counted by this process and by loader workers started from it.

    In shared memory: a worker's own attributes are lost to its parent. Two workers that count at
    the same moment may lose one.
    """

    NAMES = ("pil", "torchvision", "device", "resized_files", "shorter_side")

    def __init__(self) -> None:
        self._numbers = torch.zeros(len(self.NAMES), dtype=torch.int64)
        self._numbers.share_memory_()  # type: ignore[no-untyped-call]

    def count(self, name: str, more: int = 1) -> None:
        self._numbers[self.NAMES.index(name)] += more

    def at_least(self, name: str, number: int) -> None:
        self._numbers[self.NAMES.index(name)].clamp_(min=number)

    def to_dict(self) -> dict[str, int]:
        return dict(zip(self.NAMES, self._numbers.tolist(), strict=True))


def by_pil(path: Path) -> Image.Image:
    """The image in a file, RGB.

    Raises:
        WorkloadError: it cannot be read.
    """
    try:
        with Image.open(path) as image:
            return image.convert("RGB")
    except OSError as error:
        raise _unreadable(path, error) from error


def by_torchvision(path: Path) -> Tensor:
    """As `by_pil`, uint8 (3, height, width): JPEG, PNG, GIF and WebP."""
    try:
        image: Tensor = decode_image(str(path), mode=ImageReadMode.RGB)
    except RuntimeError as error:
        raise _unreadable(path, error) from error
    return image


def encoded(path: Path) -> Tensor:
    """A JPEG file's bytes, uint8 (size,), for `on_device`.

    Raises:
        WorkloadError: it cannot be read, or is no JPEG file, which is all that nvJPEG knows.
    """
    try:
        content: Tensor = read_file(str(path))
    except RuntimeError as error:
        raise _unreadable(path, error) from error
    if content[:2].tolist() != [0xFF, 0xD8]:
        raise WorkloadError(f"{path} is no JPEG file: the device decodes nothing else")
    return content


def on_device(files: list[Tensor], device: torch.device) -> list[Tensor]:
    """Images decoded on `device`, by nvJPEG where that is CUDA: uint8 (3, height, width) each."""
    images: list[Tensor] = decode_jpeg(files, mode=ImageReadMode.RGB, device=device)
    return images


LOADER_DECODERS: Mapping[str, Callable[[Path], Picture]] = {
    "pil": by_pil,
    "torchvision": by_torchvision,
}


def size_of(image: Picture) -> tuple[int, int]:
    """Width and height, in pixels."""
    return image.size if isinstance(image, Image.Image) else (image.shape[-1], image.shape[-2])


def _unreadable(path: Path, error: Exception) -> WorkloadError:
    return WorkloadError(f"cannot read image {path}: remove or replace it ({error})")
