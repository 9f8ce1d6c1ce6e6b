"""Where a step's time goes, measured in steps of its own, never in the timed blocks.

A part lasts from its mark to the next one. On an accelerator the
marks are events in its stream: a part is then the time until the device had come that far, so
that waiting for data shows as the device's idle time and hidden work shows as none.
"""

import statistics
from collections.abc import Callable
from time import perf_counter
from typing import Any

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from benchmarks.marks import marks_for
from benchmarks.training import PARTS, Training

SCATTERED = ("scatter", "replicate", "gather")  # what DataParallel does besides computing


def break_down(training: Training, steps: int) -> dict[str, Any]:
    """Seconds a step spends in each part, and two ceilings (units/s, all ranks). A collective call.

    Gradients go out of step between ranks on the way: the training is of no further use.
    """
    parts, step_s = timed_parts(training, steps)
    found: dict[str, Any] = {f"{name}_s": seconds for name, seconds in parts.items()}
    found |= communication(training, steps, parts["backward"])
    found["backward_s"] = max(0.0, found["backward_s"] - found["communication_s"])
    found["other_s"] = max(0.0, step_s - sum(parts.values()))
    found["step_s"] = step_s
    found["steps"] = steps
    found["compute_samples_per_s"] = compute_ceiling(training, steps)
    found["loader_samples_per_s"] = loader_ceiling(training, steps)
    return found


def timed_parts(training: Training, steps: int) -> tuple[dict[str, float], float]:
    """Mean seconds of each part and of a whole step, by this rank's device."""
    training.synchronize()
    marks = marks_for(training.device)
    start = perf_counter()
    for _ in range(steps):
        training.step(mark=marks.set)
    marks.set("end")
    training.synchronize()
    step_s = (perf_counter() - start) / steps
    parts = dict.fromkeys(PARTS, 0.0)
    for name, seconds in marks.intervals_s():
        parts[name] += seconds / steps
    return parts, step_s


def communication(training: Training, steps: int, backward_s: float) -> dict[str, float | int]:
    """Exposed communication: how much longer backward takes with it than without, seconds a step.

    DistributedDataParallel overlaps its all-reduce with backward; what is hidden costs nothing.
    imbalance: the slowest rank's own step over the mean of all, without waiting for each other.
    """
    model = training.model
    if isinstance(model, nn.DataParallel):
        return {"communication_s": scattered_s(training, steps)}
    if not isinstance(model, DistributedDataParallel):
        return {"communication_s": 0.0}
    with model.no_sync():
        alone, _ = timed_parts(training, steps)
    # without the wait for the others at the end
    mine = {"exposed_s": backward_s - alone["backward"], "own_step_s": sum(alone.values())}
    ranks: list[Any] = [None] * training.place.world
    torch.distributed.all_gather_object(ranks, mine)
    own_step_s = [rank["own_step_s"] for rank in ranks]
    return {
        "communication_s": max(0.0, *(rank["exposed_s"] for rank in ranks)),
        "imbalance": max(own_step_s) / statistics.mean(own_step_s),
        "slowest_rank": own_step_s.index(max(own_step_s)),
    }


def scattered_s(training: Training, steps: int) -> float:
    """Seconds a step that DataParallel scatters, replicates and gathers, by the host's clock."""
    spent = [0.0]
    model: Any = training.model

    def timed(call: Callable[..., Any]) -> Callable[..., Any]:
        def timing(*arguments: Any, **named: Any) -> Any:
            training.synchronize()
            start = perf_counter()
            result = call(*arguments, **named)
            training.synchronize()
            spent[0] += perf_counter() - start
            return result

        return timing

    originals = {name: getattr(model, name) for name in SCATTERED}
    for name, call in originals.items():
        setattr(model, name, timed(call))
    try:
        for _ in range(steps):
            training.step()
    finally:
        for name, call in originals.items():
            setattr(model, name, call)
    return spent[0] / steps


def compute_ceiling(training: Training, steps: int) -> float:
    """Units per second with one batch kept on the device: no loading, no copying."""
    batch = training.to_device(next(training.batches))
    training.train_on(*batch)  # the first without a copy behind it
    training.synchronize()
    start = perf_counter()
    for _ in range(steps):
        training.train_on(*batch)
    training.synchronize()
    return steps * training.units_per_step / (perf_counter() - start)


def loader_ceiling(training: Training, steps: int) -> float:
    """Units per second of the loader alone: nothing is trained.

    What was prefetched while something else ran is taken out first.
    """
    for _ in range(training.setting.prefetched_batches):
        next(training.batches)
    training.synchronize()
    start = perf_counter()
    for _ in range(steps):
        next(training.batches)
    training.synchronize()
    return steps * training.units_per_step / (perf_counter() - start)
