"""pytest-benchmark gets the measured durations through a clock that plays them back.

It is called when the experiment is over: a case that fails never leaves an empty entry in
pytest-benchmark's JSON, which would cost the whole file.
"""

from collections.abc import Callable, Sequence
from typing import Any

from results.record import Record


class ReplayClock:
    """A timer for `benchmark.pedantic`: each pair of readings lies one duration apart."""

    def __init__(self) -> None:
        self._durations: list[float] = []
        self._now = 0.0
        self._started = False

    def load(self, durations: Sequence[float]) -> None:
        self._durations = list(durations)

    def reading(self) -> float:
        """Seconds; without durations left, time stands still."""
        if self._started and self._durations:
            self._now += self._durations.pop(0)
        self._started = not self._started
        return self._now


def replay(benchmark: Any, clock: ReplayClock, durations: Sequence[float]) -> None:
    """Fill pytest-benchmark's fixture with `durations` (seconds of a step, one per block)."""
    clock.load(durations)
    benchmark.pedantic(nothing, rounds=len(durations), iterations=1)


def nothing() -> None:
    """What pytest-benchmark believes to be timing."""


def timer_of(clock: ReplayClock) -> Callable[[], float]:
    """A plain function: pytest-benchmark prints its timer's name."""

    def measured_in_the_rank() -> float:
        return clock.reading()

    return measured_in_the_rank


def step_durations(record: Record) -> list[float]:
    """Seconds of a step of the candidate, one per block."""
    blocks = [block for block in record.blocks if block["arm"] == "candidate"]
    return [block["seconds"] / block["steps"] for block in blocks]
