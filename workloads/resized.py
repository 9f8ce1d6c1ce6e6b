"""Images shrunk once, before training: what is thrown away at every decoding need not be stored."""

import hashlib
import os
import shutil
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from PIL import Image

from workloads.once import make_once

QUALITY = 95
PREFIX = "resized-v1-"  # of a folder's name in the cache


def shrink_once(cache: Path, folder: Path, files: Sequence[str], side: int) -> Path:
    """An ImageFolder like `folder`, its images' shorter sides no longer than `side`; JPEG files.

    Made below `cache` if missing, and anew when a file in `folder` has changed. A smaller image
    is taken as it is.
    """

    def fill(target: Path) -> None:
        with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:  # Pillow releases the GIL
            list(pool.map(lambda file: _shrink(folder, Path(file), target, side), files))

    return make_once(cache / f"{PREFIX}{side}-{_fingerprint(folder, files)}", fill)


def is_resized(path: Path) -> bool:
    """Whether a file lies in a folder that `shrink_once` made."""
    return any(part.startswith(PREFIX) for part in path.parts)


def _shrink(folder: Path, file: Path, target: Path, side: int) -> None:
    place = target / file.relative_to(folder)
    place.parent.mkdir(parents=True, exist_ok=True)
    with Image.open(file) as image:
        shorter = min(image.size)
        if shorter <= side:
            shutil.copyfile(file, place)
            return
        size = (round(image.width * side / shorter), round(image.height * side / shorter))
        small = image.convert("RGB").resize(size, Image.Resampling.BICUBIC)
    small.save(place, "JPEG", quality=QUALITY)  # whatever its name ends in: readers look inside


def _fingerprint(folder: Path, files: Sequence[str]) -> str:
    digest = hashlib.sha256(str(folder.resolve()).encode())
    for file in files:
        found = Path(file).stat()
        digest.update(f"{file}\0{found.st_size}\0{found.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:16]
