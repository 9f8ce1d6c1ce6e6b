"""A workload whose truth is arithmetic: loading and every part of a step are sleeps.

With W loader workers a step of B items comes every max(STEP_S, B x LOAD_S / W) seconds, without
workers every STEP_S + B x LOAD_S seconds.

Each process keeps a time-table: a sleep ends when it is due since the one before was due. A late
wake-up, and what torch and its loader take in between, then come off the next sleep instead of
adding up over a block. Sleeps still never sum to more than the time that passed, so nothing
runs faster than the arithmetic.
"""

import time
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import Dataset

from workloads import Scale, Source, Workload

LOAD_S = 0.008  # an item
BATCH = 4
PARTS_S = {"copy": 0.001, "forward": 0.003, "backward": 0.004, "optimizer": 0.002}
STEP_S = sum(PARTS_S.values())
FORGIVEN_S = 0.005  # later than this is no delay: the process waited for another, or was stopped


def seconds_per_step(workers: int) -> float:
    """What the clock must show."""
    loading_s = BATCH * LOAD_S
    return max(STEP_S, loading_s / workers) if workers else STEP_S + loading_s


class TimeTable:
    """When the sleep before was due in this process; a forked one goes on from its parent's."""

    due = -float("inf")

    @classmethod
    def sleep(cls, seconds: float) -> None:
        now = time.perf_counter()
        began = cls.due if now - cls.due < FORGIVEN_S else now
        cls.due = began + seconds
        time.sleep(max(0.0, cls.due - now))


class SlowToCopy(dict[str, Tensor]):
    """A batch that takes a known time to go to a device; the loader's collation keeps the class."""

    def to(self, *arguments: Any, **named: Any) -> Tensor:
        TimeTable.sleep(PARTS_S["copy"])
        return self["inputs"].to(*arguments, **named)


class SlowItems(Dataset[tuple[SlowToCopy, int]]):
    """Each item takes LOAD_S seconds to load."""

    def __init__(self, source: Source) -> None:
        """There is nothing to read from a source."""
        self._items = [(SlowToCopy(inputs=torch.full((4,), 1.0 + n % 3)), n % 2) for n in range(6)]

    def __getitem__(self, position: int) -> tuple[SlowToCopy, int]:
        TimeTable.sleep(LOAD_S)
        return self._items[position % len(self._items)]


class SleepInBackward(torch.autograd.Function):
    """The identity, whose gradient takes its time."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor) -> Tensor:
        return inputs.view_as(inputs)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        TimeTable.sleep(PARTS_S["backward"])
        return gradient


class Sleeper(nn.Module):
    """A linear layer whose forward takes its time."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 1)

    def forward(self, inputs: Tensor) -> Tensor:
        output: Tensor = SleepInBackward.apply(self.layer(inputs))
        TimeTable.sleep(PARTS_S["forward"])
        return output


class SleepingSGD(torch.optim.SGD):
    """SGD that takes its time."""

    def step(self, closure: Any = None) -> Any:
        loss = super().step(closure)
        TimeTable.sleep(PARTS_S["optimizer"])
        return loss


def loss(outputs: Tensor, targets: Tensor) -> Tensor:
    """Not the cross-entropy: it runs on all of torch's threads, and these spin when it is done."""
    return (outputs[:, 0] - targets).square().mean()


def optimizer(parameters: Iterable[nn.Parameter], lr: float) -> torch.optim.Optimizer:
    return SleepingSGD(parameters, lr=lr)


sleepers = Workload(
    name="sleepers",
    unit="items",
    model=Sleeper,
    data=SlowItems,
    optimizer=optimizer,
    loss=loss,
    scales={"tiny": Scale(batch=BATCH, learning_rate=0.01, model={}, data={})},
)
