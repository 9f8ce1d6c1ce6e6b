"""A workload whose truth is arithmetic: items take a known time to load, a step a known time.

With W loader workers a step of B items comes every max(step, B x load / W) seconds, without
workers every step + B x load seconds.
"""

import time
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import Dataset

from workloads import Scale, Source, Workload

STEP_S = 0.010
LOAD_S = 0.008
BATCH = 4


def seconds_per_step(workers: int) -> float:
    """What the clock must show."""
    loading_s = BATCH * LOAD_S
    return max(STEP_S, loading_s / workers) if workers else STEP_S + loading_s


class SlowItems(Dataset[tuple[Tensor, Tensor]]):
    """Each item takes `load_s` seconds to load."""

    def __init__(self, source: Source, load_s: float) -> None:
        self.load_s = load_s

    def __getitem__(self, position: int) -> tuple[Tensor, Tensor]:
        time.sleep(self.load_s)
        return torch.full((4,), 1.0 + position % 3), torch.tensor(position % 2)


class Sleeper(nn.Module):
    """Says when a step began; its optimizer sleeps until `step_s` seconds are over."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 2)

    def forward(self, inputs: Tensor) -> Tensor:
        SleepingSGD.began = time.perf_counter()
        output: Tensor = self.layer(inputs)
        return output


class SleepingSGD(torch.optim.SGD):
    """Ends each step `STEP_S` after its forward pass began."""

    began = 0.0

    def step(self, closure: Any = None) -> Any:
        loss = super().step(closure)
        time.sleep(max(0.0, self.began + STEP_S - time.perf_counter()))
        return loss


def optimizer(parameters: Iterable[nn.Parameter], lr: float) -> torch.optim.Optimizer:
    return SleepingSGD(parameters, lr=lr)


sleepers = Workload(
    name="sleepers",
    unit="items",
    model=Sleeper,
    data=SlowItems,
    optimizer=optimizer,
    scales={
        "tiny": Scale(batch=BATCH, learning_rate=0.01, model={}, data={"load_s": LOAD_S}),
    },
)
