"""One unit and one number of decimals for a whole column, so that its numbers compare."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True)
class Unit:
    """A unit's symbol and its size in the SI unit of its family."""

    symbol: str
    size: float


SECONDS = (Unit("s", 1), Unit("ms", 1e-3), Unit("µs", 1e-6))
BYTES = (Unit("GiB", 2**30), Unit("MiB", 2**20), Unit("KiB", 2**10))
JOULES = (Unit("J", 1), Unit("mJ", 1e-3), Unit("µJ", 1e-6))
WATTS = (Unit("W", 1),)
PERCENT = (Unit("%", 1),)
PLAIN = (Unit("", 1),)

# What a field's name ends in says its unit; the first that fits counts.
SUFFIXES = (
    ("_j_per_sample", JOULES),
    ("_per_s", PLAIN),
    ("_bytes", BYTES),
    ("_pct", PERCENT),
    ("_w", WATTS),
    ("_s", SECONDS),
)


def family(field: str) -> tuple[str, tuple[Unit, ...]]:
    """A field's name without its unit, and the units its values can be shown in."""
    name = field.partition(".")[0]
    for suffix, units in SUFFIXES:
        if name.endswith(suffix):
            return field.replace(suffix, "", 1), units
    return field, PLAIN


def choose(values: Sequence[float], units: Sequence[Unit]) -> Unit:
    """The largest unit in which the middle value is at least 1.

    The middle, not the extremes: one hopeless candidate must not turn the others into 0.00.
    `units` run from large to small; without values the largest is taken.
    """
    middle = median(abs(value) for value in values) if values else math.inf
    return next((unit for unit in units if middle >= unit.size), units[-1])


def decimals(values: Sequence[float]) -> int:
    """Decimals that leave three digits of the largest value and two of the smallest; at most 3."""
    sizes = [abs(value) for value in values if value]
    if not sizes:
        return 0
    largest, smallest = (math.floor(math.log10(size)) for size in (max(sizes), min(sizes)))
    return min(3, max(0, 2 - largest, 1 - smallest))


def number(value: float, places: int) -> str:
    """12,345.7 with a real minus sign."""
    return f"{value:,.{places}f}".replace("-", "−")


def duration(seconds: float) -> str:
    """A time for people: 45 s, 7 min 30 s, 2 h 5 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
