"""Generated folders appear whole or not at all, whoever makes them at the same time."""

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from workloads.workload import WorkloadError


def make_once(folder: Path, fill: Callable[[Path], None]) -> Path:
    """`folder`, filled by `fill(empty folder)` unless it exists; returns `folder`.

    It is filled under another name beside it and then renamed, so a reader never sees half of it
    and a killed process leaves nothing that looks finished. Of two processes at once one wins,
    and as both fill in the same, it does not matter which.

    Raises:
        WorkloadError: the place cannot be written, or the disk is full.
    """
    if folder.is_dir():
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as scratch:
            filled = Path(scratch) / "filled"
            filled.mkdir()
            fill(filled)
            _publish(filled, folder)
    except OSError as error:
        raise WorkloadError(
            f"cannot generate data in {folder.parent} ({error.strerror or error}): "
            "make room there, or choose another cache folder"
        ) from error
    return folder


def _publish(filled: Path, folder: Path) -> None:
    try:
        os.rename(filled, folder)  # noqa: PTH104 - refuses a folder with files in it, on any system
    except OSError:
        if not folder.is_dir():
            raise
        shutil.rmtree(filled)  # another process was faster
