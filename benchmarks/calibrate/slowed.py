"""The catalog's workloads with a known share of extra work: `gpt2_plus_5` does 5% more a step.

A step that took t seconds takes t * (1 + share): real products of matrices on the step's own
device, until that much time is over. A time, not an amount of work, so that the share stays what
it is called while the machine drifts. `..._plus_0` watches its steps and adds nothing: it is what
the others are compared with.

Imported in the training processes only.
"""

import statistics
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer

from workloads import CATALOG, Workload, load

SEPARATOR = "_plus_"
REMEMBERED = 9  # steps: their median does not see the pause before a block, nor one slow step
SIDE = 128  # of the multiplied matrices: a tenth of a millisecond on a CPU core, less elsewhere


class ExtraWork:
    """Called at the end of each step; `now` and `work` are passed in for tests without a wait."""

    def __init__(
        self, share: float, work: Callable[[], None], now: Callable[[], float] = time.perf_counter
    ) -> None:
        self._share = share
        self._work = work
        self._now = now
        self._own_s: deque[float] = deque(maxlen=REMEMBERED)
        self._ended: float | None = None

    def __call__(self, *_: Any) -> None:
        now = self._now()
        if self._ended is not None:
            self._own_s.append(now - self._ended)
        if self._share and self._own_s:
            until = now + self._share * statistics.median(self._own_s)
            while self._now() < until:
                self._work()
        self._ended = self._now()


class Products:
    """One product of two matrices, finished when the call returns."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._matrix = torch.full((SIDE, SIDE), 1 / SIDE, device=device)

    def __call__(self) -> None:
        self._matrix = self._matrix @ self._matrix
        self.finish()

    def finish(self) -> None:
        if self._device.type != "cpu":
            torch.accelerator.synchronize()


def __getattr__(name: str) -> Workload:
    base, separator, percent = name.rpartition(SEPARATOR)
    if not separator or base not in CATALOG or not percent.isdecimal():
        raise AttributeError(name)
    workload = load(base)
    return replace(workload, name=name, optimizer=partial(slowed, workload, int(percent) / 100))


def slowed(
    workload: Workload, share: float, parameters: Iterable[nn.Parameter], lr: float, **given: Any
) -> Optimizer:
    """The workload's optimizer, which ends each of its steps with extra work."""
    scale = replace(next(iter(workload.scales.values())), learning_rate=lr)
    optimizer = workload.build_optimizer(parameters, scale, **given)
    products = Products(optimizer.param_groups[0]["params"][0].device)
    extra = ExtraWork(share, products)

    def at_the_end(*_: Any) -> None:
        products.finish()  # the step's own work counts until the device has done it
        extra()

    optimizer.register_step_post_hook(at_the_end)
    return optimizer
