"""Training to a loss: how many steps and seconds it takes."""

import math
from collections.abc import Callable
from time import perf_counter
from typing import Any

import torch
from torch import Tensor

from benchmarks.training.place import Place
from benchmarks.training.training import Training


class Smoothed:
    """An exponential mean over about `window` samples, whatever the batch; unbiased at the start.

    In samples, not in steps: batches of all sizes are then smoothed, and lag behind, alike.
    """

    def __init__(self, window: float) -> None:
        self._window = window
        self._sum = self._weight = 0.0
        self._samples = 0

    def add(self, loss: float, samples: int) -> None:
        kept = math.exp(-samples / self._window)
        self._sum = kept * self._sum + (1 - kept) * loss
        self._weight = kept * self._weight + (1 - kept)
        self._samples += samples

    @property
    def value(self) -> float:
        """NaN before the window was full once: a few lucky samples are no trained model."""
        return self._sum / self._weight if self._samples >= self._window else math.nan


def train_to(
    training: Training,
    *,
    target: float,
    window: float,
    limit_samples: int | None,
    clock: Callable[[], float] = perf_counter,
) -> dict[str, Any]:
    """Steps until the smoothed training loss is at most `target`. A collective call.

    Ends too when `limit_samples` were seen (of all ranks together), or a loss is not finite.
    Each step's loss is read, as who logs it does: that waits for the device.
    """
    smoothed, samples, first = Smoothed(window), 0, None
    per_step = training.batch * training.place.world
    training.synchronize()
    began = clock()
    while True:
        training.step()
        loss = mean_over_ranks(training.last_loss, training.place)
        first = loss if first is None else first
        samples += per_step
        smoothed.add(loss, per_step)
        reached = smoothed.value <= target
        over = limit_samples is not None and samples >= limit_samples
        if reached or over or not math.isfinite(loss):
            break
    training.synchronize()
    return {
        "reached": reached,
        "seconds": clock() - began,
        "steps": training.steps,
        "samples": samples,
        "first_loss": first if math.isfinite(first) else None,
        "loss": smoothed.value if math.isfinite(smoothed.value) else None,
    }


def mean_over_ranks(loss: Tensor, place: Place) -> float:
    if place.world == 1:
        return loss.item()
    mean = loss.detach().float().cpu()
    torch.distributed.all_reduce(mean)
    return mean.item() / place.world
