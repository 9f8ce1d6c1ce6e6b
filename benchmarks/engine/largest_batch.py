"""The largest batch that fits: doubled until one does not, then bisected.

Each attempt is an arm of its own that trains a few steps, so that none inherits another's heap.
A GPU bounds itself. On a CPU the arm is bounded, by half of what is available: a machine that
swaps, or a kernel that kills, would answer for everybody else on it too.
"""

import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import Any

import psutil

from benchmarks.cell import Cell
from benchmarks.engine.arm import ArmFault
from benchmarks.engine.experiment import RunningArm
from benchmarks.hardware import Hardware
from benchmarks.matrix import Scope
from benchmarks.setting import Setting
from workloads import CATALOG

GOAL = "largest_batch"
SHARE = 2  # the arm gets one part in so many of the available memory
RESOLUTION = 16  # bisection ends at one part in so many of the batch


@dataclass(frozen=True)
class Attempt:
    """outcome: ok, out_of_memory or timed_out. seconds: with the arm's start."""

    batch: int
    outcome: str
    seconds: float
    peak_bytes: int | None = None
    reason: str | None = None


@dataclass(frozen=True)
class Found:
    """largest: the batch that fitted, 0 for none. refused: the smallest that did not, or None."""

    largest: int
    refused: int | None
    attempts: tuple[Attempt, ...]
    time_was_up: bool

    @property
    def best(self) -> Attempt | None:
        fitting = [a for a in self.attempts if a.outcome == "ok" and a.batch == self.largest]
        return fitting[0] if fitting else None

    @property
    def said(self) -> str:
        """One line: how sure the answer is."""
        if self.time_was_up:
            return f"at least {self.largest:,}: time was up"
        return f"{self.largest:,} fit, {self.refused:,} do not"


def largest_batches(scope: Scope) -> list[Cell]:
    """One cell for each workload and device."""
    return [
        Cell(workload, (), Setting(device=device), device, quick=False, goal=GOAL)
        for device, workload in product(scope.devices, scope.workloads)
        if workload in CATALOG  # of others the batch is not known before they run
    ]


class Attempts:
    """Tries batch after batch, each in a new arm, while there is time for the next.

    usual: the scale's batch, tried first. launch: as `Suite.start_arm`, of a setting.
    """

    def __init__(
        self,
        setting: Setting,
        usual: int,
        launch: Callable[[Setting, float], RunningArm],
        limit_s: float,
        clock: Callable[[], float],
    ) -> None:
        self._setting = setting
        self._usual = usual
        self._launch = launch
        self._clock = clock
        self._deadline = clock() + limit_s

    def search(self) -> Found:
        """Raises ArmFault when an arm fails by anything but too little memory or time."""
        attempts: list[Attempt] = []
        largest, refused = 0, None
        while (batch := next_batch(self._usual, largest, refused)) is not None:
            # twice the batch takes about twice the seconds: what would end too late is not begun
            below = max(
                (a for a in attempts if a.batch < batch), key=lambda a: a.batch, default=None
            )
            expected_s = below.seconds * batch / below.batch if below else 0.0
            made = self._attempt(batch) if expected_s <= self._left_s() else None
            attempts += [made] if made else []
            if made is None or made.outcome == "timed_out":
                return Found(largest, refused, tuple(attempts), time_was_up=True)
            if made.outcome == "ok":
                largest = batch
            else:
                refused = batch
        return Found(largest, refused, tuple(attempts), time_was_up=False)

    def _left_s(self) -> float:
        return self._deadline - self._clock()

    def _attempt(self, batch: int) -> Attempt:
        """A few steps: the second is the first that finds the optimizer's state in its way."""
        began = self._clock()
        setting = replace(self._setting, batch=batch / self._usual)
        try:
            with closing(self._launch(setting, self._left_s())) as arm:
                arm.first_step(self._left_s())
                arm.warm(self._left_s())
                seen = arm.read_back(self._left_s())
        except ArmFault as fault:
            if fault.outcome not in ("out_of_memory", "timed_out"):
                raise
            return Attempt(batch, fault.outcome, self._clock() - began, None, fault.reason)
        name = "peak_resident_bytes" if setting.device == "cpu" else "peak_memory_bytes"
        return Attempt(batch, "ok", self._clock() - began, seen[name])


def next_batch(first: int, largest: int, refused: int | None) -> int | None:
    """What to try when `largest` fits and `refused` does not; None: it is known well enough.

    >>> next_batch(8, 0, None), next_batch(8, 8, None), next_batch(8, 64, 128)
    (8, 16, 96)
    """
    if refused is None:
        return 2 * largest or first
    if not largest:
        return refused // 2 or None
    if refused - largest <= max(1, largest // RESOLUTION):
        return None
    return (largest + refused) // 2


def memory_limit(hardware: Hardware) -> int:
    """Bytes for an arm on a CPU."""
    available = psutil.virtual_memory().available
    return min(available, hardware.cgroup_memory_bytes or available) // SHARE


def impossible(device: str) -> str | None:
    if device == "cpu" and sys.platform != "linux":
        return "the largest batch of a CPU needs Linux, which can bound a process's memory"
    return None


def fields(found: Found, limit_bytes: int | None) -> dict[str, Any]:
    """Of the record."""
    notes = [found.said] if found.largest else []
    if limit_bytes is not None:
        notes.append(
            f"its memory was limited to {limit_bytes / 2**30:.1f} GiB, half of what was available"
        )
    best = found.best
    return {
        "technique": "largest batch",
        "outcome": "ok" if best else "timed_out" if found.time_was_up else "out_of_memory",
        "reason": None if best else "not one batch was trained on: see its attempts",
        "batch": found.largest or None,
        ("peak_memory_bytes" if limit_bytes is None else "resident_bytes"): (
            best.peak_bytes if best else None
        ),
        "attempts": [asdict(each) for each in found.attempts],
        "notes": notes,
    }
