"""A file becomes pixels or one line that names it; who decoded is known across processes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset

from workloads import WorkloadError
from workloads.decoders import Tally, by_pil, by_torchvision, encoded, on_device, size_of

# torchvision 0.29 says so at every call: TorchCodec is to replace it
pytestmark = pytest.mark.filterwarnings("ignore:The image decoding and encoding")


@pytest.fixture
def photograph(tmp_path: Path) -> Path:
    colours = np.random.default_rng(0).integers(0, 255, (3, 4, 3), np.uint8)
    path = tmp_path / "a.jpg"
    Image.fromarray(colours).resize((40, 30), Image.Resampling.BICUBIC).save(path, quality=95)
    return path


@pytest.mark.parametrize("decode", [by_pil, by_torchvision, encoded])
def test_file_that_is_no_image_is_named(decode: Callable[[Path], Any], tmp_path: Path) -> None:
    (tmp_path / "not.jpg").write_text("text")
    with pytest.raises(WorkloadError, match=r"not\.jpg"):
        decode(tmp_path / "not.jpg")


@pytest.mark.parametrize("decode", [by_pil, by_torchvision, encoded])
def test_missing_file_is_named(decode: Callable[[Path], Any], tmp_path: Path) -> None:
    with pytest.raises(WorkloadError, match=r"cannot read image .*gone\.jpg: remove or replace it"):
        decode(tmp_path / "gone.jpg")


def test_all_decoders_see_the_same_picture(photograph: Path) -> None:
    pil = torch.from_numpy(np.asarray(by_pil(photograph)).copy()).permute(2, 0, 1).int()
    torchvision = by_torchvision(photograph)
    (device,) = on_device([encoded(photograph)], torch.device("cpu"))
    assert size_of(by_pil(photograph)) == size_of(torchvision) == (40, 30)
    assert (pil - torchvision.int()).abs().max() <= 3  # two versions of libjpeg
    assert torch.equal(device, torchvision)


def test_grey_file_becomes_rgb(tmp_path: Path) -> None:
    Image.new("L", (40, 30), 128).save(tmp_path / "grey.png")
    assert by_pil(tmp_path / "grey.png").mode == "RGB"
    assert by_torchvision(tmp_path / "grey.png").shape == (3, 30, 40)


def test_device_takes_jpeg_files_alone(tmp_path: Path) -> None:
    Image.new("RGB", (40, 30)).save(tmp_path / "a.png")
    with pytest.raises(WorkloadError, match=r"a\.png is no JPEG file"):
        encoded(tmp_path / "a.png")


class Counted(Dataset[int]):
    def __init__(self) -> None:
        self.tally = Tally()

    def __len__(self) -> int:
        return 6

    def __getitem__(self, position: int) -> int:
        self.tally.count("pil")
        self.tally.at_least("shorter_side", position)
        return position


@pytest.mark.parametrize("workers", [0, 1])
def test_what_workers_count_is_known_here(workers: int) -> None:
    data = Counted()
    list(DataLoader(data, num_workers=workers))
    assert data.tally.to_dict() == {
        "pil": 6,
        "torchvision": 0,
        "device": 0,
        "resized_files": 0,
        "shorter_side": 5,
    }
