"""How a cell and its numbers are put into words, the same in tables and in sentences."""

import math
from collections.abc import Iterable

from results.controls import is_control
from results.record import Record

UNKNOWN = "–"
MOST = 1.0  # beyond this, a difference that would have shown is no figure, only too few starts


def label(record: Record) -> str:
    """The setting's name in a row or a sentence."""
    return "plain (control)" if is_control(record) else record.technique


def row_name(record: Record) -> str:
    """The same in a list over several workloads."""
    return f"{record.workload}, {label(record)}"


def remarks(record: Record) -> list[str]:
    """What a reader of a measured row must know besides its numbers."""
    ended = [] if record.outcome == "ok" else [f"{outcome(record.outcome)}, {record.reason}"]
    return ended + record.notes


def outcome(name: str) -> str:
    return name.replace("_", " ")


def speedup(record: Record, places: int = 2) -> str:
    """1.31× (1.26–1.37), or the one bound that is known: ≤ 0.01×."""
    low, high = record.speedup_low, record.speedup_high
    if record.speedup is None:
        return UNKNOWN if high is None else f"≤ {_up(high, places)}×"
    if low is None and high is None:
        return f"{_ratio(record.speedup, places)}×"
    left = "0" if low is None else _ratio(low, places)
    right = "∞" if high is None else _ratio(high, places)
    return f"{_ratio(record.speedup, places)}× ({left}–{right})"


def _ratio(value: float, places: int) -> str:
    """Decimals tell 1.00 from 1.01; of 89.6 nobody needs as many."""
    digits_before = len(str(int(value)))
    return f"{value:.{max(0, places + 1 - digits_before)}f}"


def _up(bound: float, places: int) -> str:
    """Rounded up: an upper bound that is rounded down is a lie, and 0.00 says nothing."""
    return f"{math.ceil(bound * 10**places - 1e-9) / 10**places:.{places}f}"


def places(records: Iterable[Record]) -> int:
    """Decimals of a column of speed-ups: 2, or as many (to 4) as it takes to see that an
    interval excludes 1: "faster, 1.00–1.01" would contradict itself."""
    bounds = [
        bound
        for record in records
        for bound in (record.speedup_low, record.speedup_high)
        if bound is not None and bound != 1
    ]
    return next((n for n in (2, 3) if all(round(bound, n) != 1 for bound in bounds)), 4)


def verdict(record: Record) -> str:
    """The verdict; an unclear one with the difference it would have shown, or why it could not."""
    if record.verdict is None:
        return UNKNOWN
    if record.verdict == "unclear":
        if record.detectable is None:
            return "unclear, 1 start" if record.starts == 1 else "unclear"
        if record.detectable > MOST:
            return f"unclear >±{percent(MOST)}"
        return f"unclear ±{percent(record.detectable)}"
    return record.verdict


def percent(share: float) -> str:
    """A share as a percentage of two digits: 0.3%, 3.1%, 31%."""
    return f"{share:.0%}" if share >= 0.0995 else f"{share:.1%}"


def listed(words: list[str]) -> str:
    """a, b and c."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
