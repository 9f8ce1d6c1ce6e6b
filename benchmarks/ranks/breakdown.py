"""Where a step's time goes, measured in steps of its own, never in the timed blocks.

A part lasts from its mark to the next one. On an accelerator the marks are events in its stream:
a part is then the time until the device had come that far, so that waiting for data shows as the
device's idle time and hidden work shows as none.
"""

from collections.abc import Callable
from statistics import fmean
from time import perf_counter
from typing import Any

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from benchmarks.ranks.exposed import SCATTERED, account
from benchmarks.ranks.marks import marks_for
from benchmarks.training import PARTS, Training

ROUNDS = 3  # everything is looked at in turns: shares and ceilings are of the same minutes


def break_down(training: Training, steps: int) -> dict[str, Any]:
    """Seconds a step spends in each part, and two ceilings (units/s, all ranks). A collective call.

    `steps` are of each kind, about. Gradients go out of step between ranks on the way: the
    training is of no further use.
    """
    each = max(1, round(steps / ROUNDS))
    rounds = [_one_round(training, each) for _ in range(ROUNDS)]
    mine = {name: fmean(seen[name] for seen in rounds) for name in rounds[0]}
    found = account(_of_all_ranks(training, mine), training.setting.parallel)
    units = training.units_per_step
    return found | {
        "steps": each * ROUNDS,
        "samples_per_s": units / found["step_s"],
        "compute_samples_per_s": units / found.pop("compute_s"),
        "loader_samples_per_s": units / found.pop("loader_s"),
    }


def _one_round(training: Training, steps: int) -> dict[str, float]:
    """What this rank sees, as mean seconds a step: see `exposed.account`."""
    seen = {"compute_s": computing_s(training, steps), "loader_s": loading_s(training, steps)}
    training.step()  # the loader was emptied: let it get going again
    seen |= timed_parts(training, steps)
    if isinstance(training.model, DistributedDataParallel):
        with training.model.no_sync():
            training.step()  # the first still waits for the others' buffers
            alone = timed_parts(training, steps)
        seen |= {f"alone_{name}": seconds for name, seconds in alone.items()}
    if isinstance(training.model, nn.DataParallel):
        seen |= scattering_s(training, steps)
    return seen


def timed_parts(training: Training, steps: int) -> dict[str, float]:
    """Mean seconds of each part ("data_s", ...) and of a whole step ("step_s"), of this rank."""
    training.synchronize()
    marks = marks_for(training.device)
    start = perf_counter()
    for _ in range(steps):
        training.step(mark=marks.set)
    marks.set("end")
    training.synchronize()
    found = {f"{name}_s": 0.0 for name in PARTS}
    found["step_s"] = (perf_counter() - start) / steps
    for name, seconds in marks.intervals_s():
        found[f"{name}_s"] += seconds / steps
    return found


def scattering_s(training: Training, steps: int) -> dict[str, float]:
    """Seconds a step that DataParallel takes to scatter, replicate and gather, each by itself.

    By the host's clock between synchronisations. All three are in its forward; that backward adds
    the replicas' gradients up cannot be told from the rest of backward.
    """
    spent = dict.fromkeys(SCATTERED, 0.0)
    model: Any = training.model

    def timed(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def timing(*arguments: Any, **named: Any) -> Any:
            training.synchronize()
            start = perf_counter()
            result = call(*arguments, **named)
            training.synchronize()
            spent[name] += perf_counter() - start
            return result

        return timing

    for name in SCATTERED:
        setattr(model, name, timed(name, getattr(model, name)))  # hides the class's method
    try:
        for _ in range(steps):
            training.step()
    finally:
        for name in SCATTERED:
            delattr(model, name)
    return {f"{name}_s": seconds / steps for name, seconds in spent.items()}


def computing_s(training: Training, steps: int) -> float:
    """Seconds of a step with one batch kept on the device: no loading, no copying."""
    batch = training.to_device(next(training.batches))
    training.train_on(*batch)  # the first without a copy behind it
    training.synchronize()
    start = perf_counter()
    for _ in range(steps):
        training.train_on(*batch)
    training.synchronize()
    return (perf_counter() - start) / steps


def loading_s(training: Training, steps: int) -> float:
    """Seconds that a step's batch takes the loader alone: nothing is trained.

    What was prefetched while something else ran is taken out first.
    """
    for _ in range(training.setting.prefetched_batches):
        next(training.batches)
    training.synchronize()
    start = perf_counter()
    for _ in range(steps):
        next(training.batches)
    training.synchronize()
    return (perf_counter() - start) / steps


def _of_all_ranks(training: Training, mine: dict[str, float]) -> list[dict[str, float]]:
    if training.place.world == 1:
        return [mine]
    ranks: list[Any] = [None] * training.place.world
    torch.distributed.all_gather_object(ranks, mine)
    return ranks
