"""Which techniques of the suite are still to be tried on a cell: what it has already is no advice.

This room knows techniques by their names only. A test of the suite holds them against its own.
"""

from collections.abc import Mapping

from results.diagnosis.numbers import Numbers

# technique -> the knob it turns, and the positions in which that knob leaves it worth trying
TURNS: Mapping[str, tuple[str, tuple[object, ...]]] = {
    "pinned_non_blocking": ("non_blocking", (False,)),
    "copy_stream": ("copy_stream", (False,)),
    "pre_resized": ("images", ("as_stored",)),
    "decode_torchvision": ("decode", ("pil",)),
    "device_decode": ("decode", ("pil", "torchvision")),
    "device_augment": ("augment", ("loader",)),
    "tf32": ("precision", ("fp32",)),
    "amp_bf16": ("precision", ("fp32", "tf32")),
    "channels_last": ("memory_format", ("contiguous",)),
    "compile": ("compile", ("none",)),
    "compile_reduce_overhead": ("compile", ("none", "default")),
    "optimizer_fused": ("optimizer", ("default", "for_loop", "foreach")),
    "batch_x2": ("batch", (1.0,)),
    "batch_x4": ("batch", (1.0, 2.0)),
}
OF_IMAGES = (
    "pre_resized",
    "decode_torchvision",
    "device_decode",
    "device_augment",
    "channels_last",
)


def untried(cell: Numbers, *techniques: str) -> tuple[str, ...]:
    """Those of `techniques` that mean something to the cell's data and are not in use."""
    return tuple(name for name in techniques if _means_something(cell, name) and _open(cell, name))


def _means_something(cell: Numbers, name: str) -> bool:
    return name not in OF_IMAGES or cell.unit == "images"


def _open(cell: Numbers, name: str) -> bool:
    knob, positions = TURNS[name]
    return cell.setting.get(knob, positions[0]) in positions
