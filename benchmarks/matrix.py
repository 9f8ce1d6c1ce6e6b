"""Which cells there are: the classic four axes, and the accelerator against the CPU."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from benchmarks.cell import Cell
from benchmarks.hardware import Glance
from benchmarks.setting import Setting
from benchmarks.techniques import AMP_BF16, AMP_FP16, DP, FP32, SINGLE, Technique, ddp, workers

QUICK_ON_CPU = ("resnet18", "gpt2")  # one of images, one of tokens: what eight minutes allow
PRECISIONS = (FP32, AMP_BF16, AMP_FP16)


@dataclass(frozen=True)
class Scope:
    """What cells may be about: chosen by the user, else by a glance at the machine.

    named: the user named the workloads, so that none of them is left out of the quick tier.
    """

    workloads: Sequence[str]
    devices: Sequence[str]
    glance: Glance
    named: bool = False

    def quick_workloads(self, device: str) -> Sequence[str]:
        return self.workloads if self.named or device != "cpu" else QUICK_ON_CPU

    @property
    def accelerators(self) -> list[str]:
        return [device for device in self.devices if device != "cpu"]


def matrix(scope: Scope) -> list[Cell]:
    """Every combination: the plain cell of each workload first, then one change at a time."""
    cells = [cell for device in scope.devices for cell in _combinations(scope, device)]
    return sorted(cells, key=lambda cell: len(cell.changed))


def _combinations(scope: Scope, device: str) -> Iterator[Cell]:
    loading = [workers(count) for count in worker_counts(scope.glance.usable_cores)]
    strategies = parallel_axis(device, scope.glance)
    everything = (loading[-1].name, AMP_BF16.name, strategies[-1].name)
    for workload, *axes in product(scope.workloads, loading, PRECISIONS, strategies):
        cell = Cell(workload, tuple(axes), baseline=Setting(device=device), device=device)
        all_on = device != "cpu" and everything == tuple(axis.name for axis in axes)
        quick = workload in scope.quick_workloads(device) and (len(cell.changed) <= 1 or all_on)
        yield replace(cell, quick=quick)


def worker_counts(cores: int) -> list[int]:
    """0 and 2 everywhere; 4 and 8 where there are as many cores."""
    return [0, 2, *(count for count in (4, 8) if count <= cores)]


def parallel_axis(device: str, glance: Glance) -> list[Technique]:
    """single, dp, and ddp over two ranks and over every device there is."""
    found = 2 if device == "cpu" else glance.devices.get(device, 0)
    return [SINGLE, DP, *(ddp(ranks) for ranks in sorted({2, max(found, 2)}))]


def accelerator_against_cpu(scope: Scope) -> list[Cell]:
    """Each accelerator against the CPU at the same batch; without one, the cell says so.

    At scale tiny, since a CPU is hours behind at a scale that fills a GPU.
    """
    return [
        Cell(
            workload=workload,
            axes=(workers(0), FP32, SINGLE),
            baseline=Setting(device="cpu"),
            device=device,
            quick=workload in scope.quick_workloads("cpu"),
            scale="tiny",
        )
        for device, workload in product(scope.accelerators or ["cuda"], scope.workloads)
    ]
