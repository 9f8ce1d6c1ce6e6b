"""Cells of a family of techniques: each against the plain setting, or against what it stands on."""

from collections.abc import Callable
from itertools import product

from benchmarks.cell import Cell
from benchmarks.matrix import Scope
from benchmarks.techniques import FAMILIES


def family(name: str) -> Callable[[Scope], list[Cell]]:
    """The function from a Scope to the cells of `test_<name>.py`."""

    def cells(scope: Scope) -> list[Cell]:
        techniques = FAMILIES[name](scope.glance.usable_cores)
        return [
            Cell(
                workload=workload,
                axes=(technique,),
                baseline=technique.baseline(device),
                device=device,
                quick=technique.quick and workload in scope.quick_workloads(device),
                on=technique.on,
            )
            for device, workload, technique in product(scope.devices, scope.workloads, techniques)
        ]

    return cells
