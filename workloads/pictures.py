"""Generated photographs' stand-ins: JPEG files that cost what ImageNet's cost, and can be learned.

What a loader pays for is the size in pixels and bytes; what a model learns from is a colour and a
direction of stripes for each class, under noise at several sizes that differs in every picture.
"""

import math
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from PIL import Image, ImageChops, ImageOps

from workloads.once import make_once

CLASSES = 10
SIZE = (500, 375)  # pixels, width x height: ImageNet's average picture
QUALITY = 95  # with the grain below about 100 KB a file, near ImageNet's average
VERSION = 1  # in the folder's name: another drawing must not be mixed with an old cache


def generate(cache: Path, count: int) -> Path:
    """An ImageFolder of `count` JPEG files below `cache`, classes in turn; made if missing."""

    def fill(folder: Path) -> None:
        for label in range(CLASSES):
            (folder / f"class_{label:02}").mkdir()
        with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:  # Pillow releases the GIL
            list(pool.map(lambda index: _write(folder, index), range(count)))

    return make_once(cache / f"images-v{VERSION}-{count}", fill)


def _write(folder: Path, index: int) -> None:
    label = index % CLASSES
    picture = draw(label, index)
    picture.save(folder / f"class_{label:02}" / f"{index:06}.jpg", quality=QUALITY)


def draw(label: int, index: int) -> Image.Image:
    """Picture `index` of class `label`, RGB, `SIZE` pixels: the same for the same arguments."""
    rng = np.random.default_rng((VERSION, label, index))
    scene = _noise(rng, cells=5)
    scene = Image.blend(scene, _noise(rng, cells=40), 0.35)
    scene = Image.blend(scene, _noise(rng, cells=SIZE[0] // 2), 0.25)
    return ImageChops.overlay(scene, _stripes(rng, label))


def _noise(rng: np.random.Generator, cells: int) -> Image.Image:
    """Random colours on a grid `cells` wide, smoothly enlarged to a picture."""
    grid = (cells, math.ceil(cells * SIZE[1] / SIZE[0]))
    colours = Image.frombytes("RGB", grid, rng.bytes(3 * math.prod(grid)))
    return colours.resize(SIZE, Image.Resampling.BILINEAR)  # a third of bicubic's time


def _stripes(rng: np.random.Generator, label: int) -> Image.Image:
    """Waves between two shades of the class's hue, in the class's direction, nearly."""
    angle = math.pi * (label / CLASSES + rng.normal(scale=0.01))
    waves = 12 * rng.uniform(0.8, 1.25)  # across the picture's width
    step = 2 * math.pi * waves / SIZE[0]
    x = step * math.cos(angle) * np.arange(SIZE[0]) + rng.uniform(0, 2 * math.pi)
    y = step * math.sin(angle) * np.arange(SIZE[1])[:, None]
    wave = np.sin(x) * np.cos(y) + np.cos(x) * np.sin(y)  # sin(x + y), at two sines a row
    brightness = Image.fromarray((127.5 + 127.5 * wave).astype(np.uint8))
    hue = 360 * label // CLASSES
    return ImageOps.colorize(brightness, f"hsv({hue}, 60%, 30%)", f"hsv({hue}, 60%, 95%)")
