"""A generated folder is whole or absent, with two processes at it, errors or a full disk."""

import errno
import multiprocessing
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest

from workloads import WorkloadError
from workloads.once import make_once


def two_files(folder: Path) -> None:
    (folder / "a").write_text("first")
    (folder / "b").write_text("second")


def test_fills_a_missing_folder_and_its_parents(tmp_path: Path) -> None:
    made = make_once(tmp_path / "cache" / "data", two_files)
    assert sorted(path.name for path in made.iterdir()) == ["a", "b"]
    assert [path.name for path in made.parent.iterdir()] == ["data"]  # no scratch is left


def test_leaves_a_present_folder_alone(tmp_path: Path) -> None:
    made = make_once(tmp_path / "data", two_files)
    (made / "a").write_text("kept")
    make_once(made, two_files)
    assert (made / "a").read_text() == "kept"


def _make_together(folder: Path, together: Barrier) -> None:
    def fill(scratch: Path) -> None:
        (scratch / "a").write_text("first")
        together.wait(timeout=30)  # both are half done now
        (scratch / "b").write_text("second")

    make_once(folder, fill)
    assert (folder / "b").read_text() == "second"


def test_two_processes_at_once_make_one_whole_folder(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    together = context.Barrier(2)
    makers = [
        context.Process(target=_make_together, args=(tmp_path / "data", together)) for _ in range(2)
    ]
    for maker in makers:
        maker.start()
    for maker in makers:
        maker.join(60)
    assert [maker.exitcode for maker in makers] == [0, 0]
    assert [path.name for path in tmp_path.iterdir()] == ["data"]
    assert sorted(path.name for path in (tmp_path / "data").iterdir()) == ["a", "b"]


def test_failure_leaves_nothing_behind(tmp_path: Path) -> None:
    def fail(folder: Path) -> None:
        two_files(folder)
        raise RuntimeError("half way")

    with pytest.raises(RuntimeError, match="half way"):
        make_once(tmp_path / "data", fail)
    assert list(tmp_path.iterdir()) == []


def test_full_disk_is_one_line_that_names_the_place(tmp_path: Path) -> None:
    def fail(folder: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(WorkloadError, match=r"\(No space left on device\): make room") as raised:
        make_once(tmp_path / "data", fail)
    assert str(tmp_path) in str(raised.value)
    assert list(tmp_path.iterdir()) == []


def test_cache_that_is_a_file_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("not a folder")
    with pytest.raises(WorkloadError, match="choose another cache folder"):
        make_once(tmp_path / "cache" / "data", two_files)
