"""A workload whose truth is arithmetic: loading and every part of a step are sleeps.

With W loader workers a step of B items comes every max(STEP_S, B x LOAD_S / W) seconds, without
workers every STEP_S + B x LOAD_S seconds. Each part of a step sleeps until its end is due since
the step began, so that what torch itself takes is part of it and not on top.
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
COPY_ENDS_S, FORWARD_ENDS_S, BACKWARD_ENDS_S, STEP_S = 0.001, 0.004, 0.008, 0.010
PARTS_S = {
    "copy": COPY_ENDS_S,
    "forward": FORWARD_ENDS_S - COPY_ENDS_S,
    "backward": BACKWARD_ENDS_S - FORWARD_ENDS_S,
    "optimizer": STEP_S - BACKWARD_ENDS_S,
}


def seconds_per_step(workers: int) -> float:
    """What the clock must show."""
    loading_s = BATCH * LOAD_S
    return max(STEP_S, loading_s / workers) if workers else STEP_S + loading_s


class Step:
    """When the step that is going on began."""

    began: float | None = None

    @classmethod
    def begin(cls, ago_s: float = 0.0) -> None:
        if cls.began is None:
            cls.began = time.perf_counter() - ago_s

    @classmethod
    def sleep_until(cls, due_s: float) -> None:
        assert cls.began is not None
        time.sleep(max(0.0, cls.began + due_s - time.perf_counter()))


class SlowToCopy(Tensor):
    """A batch that takes a known time to go to a device."""

    def to(self, *arguments: Any, **named: Any) -> Tensor:
        Step.begin()
        Step.sleep_until(COPY_ENDS_S)
        return self.as_subclass(Tensor)


class SlowItems(Dataset[tuple[Tensor, Tensor]]):
    """Each item takes LOAD_S seconds to load."""

    def __init__(self, source: Source) -> None:
        """There is nothing to read from a source."""

    def __getitem__(self, position: int) -> tuple[Tensor, Tensor]:
        time.sleep(LOAD_S)
        inputs = torch.full((4,), 1.0 + position % 3).as_subclass(SlowToCopy)
        return inputs, torch.tensor(position % 2)


class SleepInBackward(torch.autograd.Function):
    """The identity, whose gradient takes its time."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor) -> Tensor:
        return inputs.view_as(inputs)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        Step.sleep_until(BACKWARD_ENDS_S)
        return gradient


class Sleeper(nn.Module):
    """A linear layer that keeps to the time-table."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 2)

    def forward(self, inputs: Tensor) -> Tensor:
        Step.begin(ago_s=COPY_ENDS_S)  # unless a copy already has
        output: Tensor = SleepInBackward.apply(self.layer(inputs))
        Step.sleep_until(FORWARD_ENDS_S)
        return output


class SleepingSGD(torch.optim.SGD):
    """Ends each step STEP_S after it began."""

    def step(self, closure: Any = None) -> Any:
        loss = super().step(closure)
        Step.sleep_until(STEP_S)
        Step.began = None
        return loss


def optimizer(parameters: Iterable[nn.Parameter], lr: float) -> torch.optim.Optimizer:
    return SleepingSGD(parameters, lr=lr)


sleepers = Workload(
    name="sleepers",
    unit="items",
    model=Sleeper,
    data=SlowItems,
    optimizer=optimizer,
    scales={"tiny": Scale(batch=BATCH, learning_rate=0.01, model={}, data={})},
)
