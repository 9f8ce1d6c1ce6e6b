"""Every technique there is, by family: a family is a `test_<family>.py` of cases.

A technique is added in its family's module; it then shows in case ids, tables, skips, the recipe
and `python -m benchmarks techniques`.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache

from benchmarks.hardware import Hardware
from benchmarks.setting import Setting
from benchmarks.techniques import (
    attention,
    batch_size,
    compile,
    layout,
    loading,
    memory,
    optimizer,
    parallel,
    precision,
    preprocessing,
    threads,
    transfer,
)
from benchmarks.techniques.technique import Check, Technique

MATRIX = (
    loading.workers(0),
    precision.FP32,
    precision.AMP_BF16,
    precision.AMP_FP16,
    parallel.SINGLE,
    parallel.DP,
    parallel.ddp(2),
)
# cores -> techniques: some are made for the number of cores
FAMILIES: Mapping[str, Callable[[int], Sequence[Technique]]] = {
    "transfer": transfer.techniques,
    "preprocessing": lambda cores: preprocessing.TECHNIQUES,
    "memory": memory.techniques,
    "threads": threads.techniques,
    "parallel": parallel.techniques,
    "batch_size": batch_size.techniques,
    "precision": precision.techniques,
    "layout": layout.techniques,
    "compile": compile.techniques,
    "attention": attention.techniques,
    "optimizer": optimizer.techniques,
}


def everything(cores: int) -> list[Technique]:
    """Of the matrix one of each kind, of the families all."""
    return [*MATRIX, *(each for techniques in FAMILIES.values() for each in techniques(cores))]


@cache
def checks() -> Mapping[str, Check]:
    """Of all techniques, by name: both arms of every cell pass through them."""
    return {
        name: check for technique in everything(cores=2) for name, check in technique.checks.items()
    }


def find(name: str, cores: int) -> Technique | None:
    """The technique of that name on a machine with so many cores, or None."""
    if numbered := re.fullmatch(r"(workers|ddp)(\d+)", name):
        make = {"workers": loading.workers, "ddp": parallel.ddp}[numbered[1]]
        return make(int(numbered[2]))
    return next((technique for technique in everything(cores) if technique.name == name), None)


def device_needs(hardware: Hardware, setting: Setting) -> str | None:
    """Why the setting's device is not to be had, or None."""
    if hardware.devices.get(setting.device, 0) > 0:
        return None
    return f"{setting.device} needs a usable {setting.device} device, found none"
