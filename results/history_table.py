"""A history as a table, a list of changes, and JSON."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from results import listing
from results.archive import Archive
from results.columns import Heading
from results.history import Line
from results.listing import Listing
from results.wording import UNKNOWN

METHOD = (
    "changes: optimal partitioning of the logarithms with a penalty (Jackson 2005, Killick 2012), "
    "at least 3 runs a level; on a steady cell a false one is found in fewer than 1 of 20 histories"
)
MOST_CHANGES = 20


def as_listing(lines: Sequence[Line], archive: Archive, quantity: str) -> Listing:
    several = len({line.machine for line in lines}) > 1
    unit = "speed-up" if quantity == "speedup" else "throughput"
    headings = [
        Heading("cell", "cell", right=False),
        *([Heading("machine", "machine", right=False)] if several else []),
        Heading("runs", "runs"),
        Heading("first", f"{unit} at first"),
        Heading("now", f"{unit} now"),
        Heading("changes", "changes"),
        Heading("last", "last change"),
        Heading("since", "since", right=False),
    ]
    rows = [
        (line.cell, *([line.machine] if several else []), *_numbers(line, quantity))
        for line in lines
    ]
    return Listing(
        title=f"{unit} over {len(archive.runs)} runs, {archive.runs[0]} to {archive.runs[-1]}",
        headings=headings,
        rows=rows,
        lines=[*_changes(lines), METHOD],
    )


def as_json(lines: Sequence[Line], archive: Archive, quantity: str) -> str:
    """Strict JSON: per cell its runs, values and levels (begin and end count within its runs)."""
    content: dict[str, Any] = {"quantity": quantity, "runs": archive.runs}
    content["cells"] = [
        {
            "cell": line.cell,
            "scale": line.scale,
            "machine": line.machine,
            "runs": [point.run for point in line.points],
            "values": list(line.values),
            "levels": [
                {"begin": level.begin, "end": level.end, "value": level.value}
                for level in line.levels
            ],
        }
        for line in lines
    ]
    return listing.strict_json(content)


def _numbers(line: Line, quantity: str) -> tuple[str, ...]:
    change = line.last_change
    return (
        str(len(line.points)),
        value(line.levels[0].value, quantity),
        value(line.levels[-1].value, quantity),
        str(len(line.levels) - 1),
        UNKNOWN if change is None else signed(change),
        UNKNOWN if change is None else line.points[line.levels[-1].begin].run,
    )


def _changes(lines: Sequence[Line]) -> list[str]:
    """Every change, the newest first, as far as a reader will go."""
    found = [
        (line.points[after.begin].run, line.cell, after.value / before.value)
        for line in lines
        for before, after in pairwise(line.levels)
    ]
    found.sort(key=lambda change: change[0], reverse=True)
    told = [f"{run}: {cell} {signed(ratio)}" for run, cell, ratio in found[:MOST_CHANGES]]
    if len(found) > MOST_CHANGES:
        told.append(f"and {len(found) - MOST_CHANGES} earlier changes: --format json has them all")
    return told


def value(number: float, quantity: str) -> str:
    return f"{number:.3f}×" if quantity == "speedup" else f"{number:,.4g}/s"


def signed(ratio: float) -> str:
    """+3.1% or −6.2%, with a real minus sign."""
    return f"{ratio - 1:+.1%}".replace("-", "−")
