"""Profiles of a few steps, never of timed ones: torch's own, or Nsight Systems from outside.

The parts of a step (`training.PARTS`) show as named ranges in either.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile, record_function

from benchmarks.training import PARTS, Mark, Training

TOP = 15  # operators or kernels kept in the record


def profile_torch(training: Training, steps: int, trace: Path) -> list[dict[str, Any]]:
    """Profile `steps` steps, write a trace that Perfetto opens, and give the top operators.

    Sorted by their own time on the device (on a CPU, the CPU): name, calls, seconds of all steps
    together. Ranges are not operators and are left out.
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
    own_us = "self_device_time_total" if len(activities) > 1 else "self_cpu_time_total"
    events = [event for event in profiler.key_averages() if event.key not in PARTS]
    events.sort(key=lambda event: -float(getattr(event, own_us)))
    return [
        {"name": event.key, "calls": event.count, "self_s": float(getattr(event, own_us)) / 1e6}
        for event in events[:TOP]
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
