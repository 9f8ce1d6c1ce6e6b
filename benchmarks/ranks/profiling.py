"""Profiles of a few steps, never of timed ones: torch's own, or Nsight Systems from outside.

The parts of a step (`training.PARTS`) show as named ranges in either.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile, record_function

from benchmarks.training import PARTS, Mark, Training

TOP = 15  # operators or kernels kept in the record


def profile_torch(training: Training, steps: int, trace: Path) -> list[dict[str, Any]]:
    """Profile `steps` steps, write a trace that Perfetto opens, and give the top operators.

    As in `costliest`, over all steps together.
    """
    activities = [ProfilerActivity.CPU]
    if training.device.type == "cuda":
        activities.append(ProfilerActivity.CUDA)
    training.synchronize()
    with profile(activities=activities) as profiler, ranges(record_function) as mark:
        for _ in range(steps):
            training.step(mark)
        training.synchronize()
    profiler.export_chrome_trace(str(trace))
    return costliest(profiler.key_averages(), on_device=len(activities) > 1)


def costliest(events: Iterable[Any], *, on_device: bool) -> list[dict[str, Any]]:
    """The TOP by their own time: name, calls, self_s, share of the own times of all.

    On a device these are its kernels and copies: the operators on the host that launched them
    carry the same seconds once more. Named ranges contain operators and are none.
    """
    own_us = "self_device_time_total" if on_device else "self_cpu_time_total"
    counted = [
        (float(getattr(event, own_us)), event)
        for event in events
        if not event.is_user_annotation
        and event.key not in PARTS
        and (event.device_type.name != "CPU") == on_device
    ]
    counted.sort(key=lambda each: -each[0])
    whole = sum(own for own, _ in counted) or 1.0
    return [
        {"name": event.key, "calls": event.count, "self_s": own / 1e6, "share": own / whole}
        for own, event in counted[:TOP]
    ]


def profile_nsys(training: Training, steps: int) -> None:
    """Open Nsight Systems' capture range around `steps` steps; `nsys` runs this process."""
    training.synchronize()
    torch.cuda.profiler.start()  # type: ignore[no-untyped-call]
    with ranges(torch.cuda.nvtx.range) as mark:
        for _ in range(steps):
            training.step(mark)
        training.synchronize()
    torch.cuda.profiler.stop()  # type: ignore[no-untyped-call]


@contextmanager
def ranges(named: Callable[[str], AbstractContextManager[Any]]) -> Iterator[Mark]:
    """A mark for `Training.step` that closes one part's range and opens the next one's."""
    current: AbstractContextManager[Any] = nullcontext()

    def mark(part: str) -> None:
        nonlocal current
        current.__exit__(None, None, None)
        current = named(part)
        current.__enter__()

    try:
        yield mark
    finally:
        current.__exit__(None, None, None)
