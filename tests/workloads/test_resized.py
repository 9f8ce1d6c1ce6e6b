"""Shrunk once: no larger than asked for, of the same shape, made anew when a file has changed."""

import os
from pathlib import Path

import pytest
from PIL import Image

from workloads.resized import is_resized, shrink_once


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, size in {"cat/wide.jpg": (80, 40), "cat/in/tall.png": (30, 90)}.items():
        path = tmp_path / "own" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", size, "red").save(path)
    Image.new("RGB", (10, 12)).save(tmp_path / "own" / "cat" / "small.png")
    return tmp_path / "own"


def shrunk(folder: Path, side: int = 20) -> Path:
    files = sorted(str(path) for path in folder.rglob("*.*"))
    return shrink_once(folder.parent / "cache", folder, files, side)


def sizes(folder: Path) -> dict[str, tuple[int, int]]:
    found = {}
    for path in folder.rglob("*.*"):
        with Image.open(path) as image:
            found[str(path.relative_to(folder))] = image.size
    return found


def test_shorter_sides_are_shrunk_and_small_images_left_as_they_are(folder: Path) -> None:
    assert sizes(shrunk(folder)) == {
        "cat/wide.jpg": (40, 20),
        "cat/in/tall.png": (20, 60),
        "cat/small.png": (10, 12),
    }


def test_what_was_made_is_found_again(folder: Path) -> None:
    first = shrunk(folder)
    before = first.stat().st_mtime_ns
    assert shrunk(folder) == first
    assert first.stat().st_mtime_ns == before
    assert shrunk(folder, side=10) != first


def test_a_changed_file_is_not_taken_for_what_it_was(folder: Path) -> None:
    first = shrunk(folder)
    os.utime(folder / "cat" / "wide.jpg", ns=(1, 1))
    assert shrunk(folder) != first


def test_a_file_says_by_its_place_that_it_was_resized(folder: Path) -> None:
    assert all(map(is_resized, shrunk(folder).rglob("*.*")))
    assert not any(map(is_resized, folder.rglob("*.*")))
