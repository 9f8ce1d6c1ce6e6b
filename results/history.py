"""One line per cell over all stored runs: where it stands, and when it changed.

The speed-up is followed rather than the throughput, unless asked otherwise: each run's own paired
figure has no drift of the machine in it.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from results.archive import Archive, Cell, Point
from results.changepoints import change_points
from results.record import MARGIN
from results.store import StoreError

QUANTITIES = ("speedup", "throughput")


@dataclass(frozen=True, kw_only=True)
class Level:
    """A stretch of runs without a change: positions in the series, and the median value."""

    begin: int
    end: int
    value: float


@dataclass(frozen=True, kw_only=True)
class Line:
    """A cell's history. `values` belong to `points` one by one."""

    cell: str
    scale: str
    machine: str
    points: Sequence[Point]
    values: Sequence[float]
    levels: Sequence[Level]  # at least one; a new one begins where the cell changed

    @property
    def last_change(self) -> float | None:
        """New level / old level at the last change; None without any."""
        return self.levels[-1].value / self.levels[-2].value if len(self.levels) > 1 else None


def lines(archive: Archive, quantity: str = "speedup", margin: float = MARGIN) -> list[Line]:
    """Histories of all measured cells; the one whose last change was worst comes first.

    quantity: one of QUANTITIES. Changes smaller than `margin` are no new level. Raises StoreError
    where no run has measured anything.
    """
    found = []
    for cell, series in archive.series.items():
        points = [point for point in series if _value(point, quantity)]
        if points:
            found.append(_line(cell, points, quantity, margin))
    if not found:
        raise StoreError(f"nothing was measured in any of {len(archive.runs)} runs")
    return sorted(found, key=lambda line: (line.last_change or 1.0, line.cell, line.machine))


def _line(cell: Cell, points: Sequence[Point], quantity: str, margin: float) -> Line:
    values = [_value(point, quantity) or 0.0 for point in points]
    begins = change_points([math.log(value) for value in values])
    return Line(
        cell=cell.identity.cell,
        scale=cell.identity.scale,
        machine=cell.machine,
        points=points,
        values=values,
        levels=levels(values, begins, margin),
    )


def levels(values: Sequence[float], begins: Sequence[int], margin: float) -> list[Level]:
    """Stretches between the changes; neighbours that differ by less than `margin` become one."""
    edges = [0, *begins, len(values)]
    while True:
        found = [
            Level(begin=begin, end=end, value=statistics.median(values[begin:end]))
            for begin, end in pairwise(edges)
        ]
        steps = [abs(math.log(after.value / before.value)) for before, after in pairwise(found)]
        if not steps or min(steps) >= math.log1p(margin):
            return found
        del edges[steps.index(min(steps)) + 1]


def _value(point: Point, quantity: str) -> float | None:
    return point.speedup if quantity == "speedup" else point.samples_per_s
