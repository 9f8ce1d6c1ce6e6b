"""Generated pictures cost what ImageNet's cost, are the same every time, and show their class."""

from pathlib import Path

import numpy as np
from PIL import Image

from workloads.pictures import CLASSES, SIZE, draw, generate


def test_folder_holds_jpeg_files_of_every_class_in_turn(tmp_path: Path) -> None:
    files = sorted(generate(tmp_path, count=23).rglob("*.jpg"))
    assert len(files) == 23
    assert [len(list(f.iterdir())) for f in sorted(files[0].parents[1].iterdir())] == (
        [3, 3, 3] + [2] * (CLASSES - 3)
    )
    with Image.open(files[0]) as image:
        assert (image.format, image.size) == ("JPEG", (500, 375))


def test_file_is_about_as_large_as_imagenets(tmp_path: Path) -> None:
    sizes = [f.stat().st_size for f in generate(tmp_path, count=20).rglob("*.jpg")]
    assert 90_000 < np.mean(sizes) < 120_000


def test_files_are_the_same_whenever_made(tmp_path: Path) -> None:
    def contents(cache: Path) -> list[bytes]:
        return [f.read_bytes() for f in sorted(generate(cache, count=12).rglob("*.jpg"))]

    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_pictures_of_a_class_differ() -> None:
    one, two = np.asarray(draw(3, 3)), np.asarray(draw(3, 13))
    assert one.shape == (SIZE[1], SIZE[0], 3)
    assert np.abs(one.astype(int) - two).mean() > 10


def test_class_can_be_told_from_the_colours() -> None:
    means = np.array(
        [[np.asarray(draw(c, 10 * i + c)).mean((0, 1)) for i in range(6)] for c in range(CLASSES)]
    )
    centres = means[:, :3].mean(axis=1)
    distance = np.linalg.norm(means[:, 3:, None] - centres, axis=-1)  # class, picture, centre
    right = distance.argmin(-1) == np.arange(CLASSES)[:, None]
    assert right.mean() > 0.5  # guessing: 0.1
