"""Workloads that go wrong in known ways: a linear layer of two milliseconds a step, and a fault.

Run by the suite as any user's own: `--workload tests/benchmarks/faulty_workloads.py:raises`.
"""

import ctypes
import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import Dataset, get_worker_info

from workloads import Scale, Source, Workload

STEP_S = 0.002
BATCH = 4
IN_A_BLOCK = 4  # the first two steps are the cold one and the one watched for its dtype


def raise_error() -> None:
    print("these are\nits last words", flush=True)
    raise ArithmeticError("on purpose\nwith a second line")


def segfault() -> None:
    print("its last words", file=sys.stderr, flush=True)
    ctypes.string_at(0)


def kill_itself() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def exit_early() -> None:
    os._exit(3)


def hang() -> None:
    time.sleep(3600)


def exhaust_memory() -> None:
    """As on a machine without any left: torch says so in the words of its own allocator."""
    resource.setrlimit(resource.RLIMIT_AS, (1 << 32, resource.getrlimit(resource.RLIMIT_AS)[1]))
    torch.empty(1 << 36, dtype=torch.uint8)


def exhaust_python_memory() -> None:
    raise MemoryError


def nothing() -> None:
    pass


class Faulty(nn.Module):
    """A linear layer; rank `rank` calls `fault` in its step number `at_step`, counted from 1."""

    def __init__(self, fault: Callable[[], None], at_step: int, rank: int) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 2)
        self.fault = fault
        self.steps_to_go = at_step if int(os.environ.get("RANK", "0")) == rank else -1

    def forward(self, inputs: Tensor) -> Tensor:
        self.steps_to_go -= 1
        if self.steps_to_go == 0:
            self.fault()
        time.sleep(STEP_S)
        output: Tensor = self.layer(inputs)
        return output


class Diverging(Faulty):
    """Its logits stop being numbers."""

    def forward(self, inputs: Tensor) -> Tensor:
        return super().forward(inputs) / 0.0 * 0.0


class Items(Dataset[tuple[Tensor, Tensor]]):
    """Items at no cost; a loader worker calls `fault` at position `at`."""

    def __init__(self, source: Source, fault: Callable[[], None], at: int) -> None:
        self.fault = fault
        self.at = at

    def __getitem__(self, position: int) -> tuple[Tensor, Tensor]:
        if position >= self.at and get_worker_info() is not None:
            self.fault()
        return torch.full((4,), 1.0 + position % 3), torch.tensor(position % 2)


def workload(
    name: str,
    fault: Callable[[], None] = nothing,
    *,
    at_step: int = 1,
    rank: int = 0,
    model: Callable[..., Any] = Faulty,
    in_worker: Callable[[], None] = nothing,
    scale: str = "tiny",
) -> Workload:
    parts = {"fault": fault, "at_step": at_step, "rank": rank}
    items = {"fault": in_worker, "at": 2 * BATCH}
    scales = {
        scale: Scale(batch=BATCH, learning_rate=0.01, model=parts, data=items),
        "full": Scale(batch=BATCH, learning_rate=0.01, model=parts, data=items),
    }
    return Workload(
        name=name, unit="items", model=model, data=Items, optimizer=torch.optim.SGD, scales=scales
    )


fine = workload("fine")
raises = workload("raises", raise_error)
raises_later = workload("raises_later", raise_error, at_step=IN_A_BLOCK)
segfaults = workload("segfaults", segfault)
is_killed = workload("is_killed", kill_itself, at_step=IN_A_BLOCK)
exits = workload("exits", exit_early)
hangs = workload("hangs", hang)
hangs_later = workload("hangs_later", hang, at_step=IN_A_BLOCK)
exhausts_memory = workload("exhausts_memory", exhaust_memory)
exhausts_python_memory = workload("exhausts_python_memory", exhaust_python_memory)
diverges = workload("diverges", model=Diverging)
loses_a_worker = workload("loses_a_worker", in_worker=kill_itself)
raises_in_a_worker = workload("raises_in_a_worker", in_worker=raise_error)
rank1_raises = workload("rank1_raises", raise_error, rank=1, at_step=IN_A_BLOCK)
rank1_segfaults = workload("rank1_segfaults", segfault, rank=1)
rank1_is_killed = workload("rank1_is_killed", kill_itself, rank=1, at_step=IN_A_BLOCK)
rank1_hangs = workload("rank1_hangs", hang, rank=1, at_step=IN_A_BLOCK)
rank1_exhausts_memory = workload("rank1_exhausts_memory", exhaust_memory, rank=1)
only_small = workload("only_small", scale="small")
not_a_workload = 3
