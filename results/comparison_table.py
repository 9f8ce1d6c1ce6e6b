"""A comparison of two runs as one table: for a page, a terminal and other programs."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from results import listing
from results.columns import Heading
from results.comparison import Change, Comparison
from results.listing import Listing
from results.welch import Ratio
from results.wording import UNKNOWN, listed

MARK = "‡"
HEADINGS = (
    Heading("cell", "cell", right=False),
    Heading("base", "speed-up, base"),
    Heading("new", "speed-up, new"),
    Heading("speedup", "new / base speed-up (95% interval)"),
    Heading("verdict", "verdict", right=False),
    Heading("throughput", "new / base throughput (95% interval)"),
)
MEDIANS = (
    Heading("cell", "benchmark", right=False),
    Heading("throughput", "new / base speed"),
)


def as_listing(comparison: Comparison, base: str, new: str, failures: Sequence[str]) -> Listing:
    """`base` and `new` name the runs; `failures` are the lines of `comparison.fallen`."""
    marked = f" {MARK}" if comparison.environment else ""
    headings = [
        Heading(each.key, each.text + (marked if each.key == "throughput" else ""), "", each.right)
        for each in HEADINGS
    ]
    return Listing(
        title=f"{new} against {base}",
        headings=headings,
        rows=[_row(each) for each in comparison.changes],
        lines=[*_failed(failures), *_lines(comparison)],
    )


def medians_listing(comparison: Comparison, base: str, new: str) -> Listing:
    """Of two pytest-benchmark files."""
    return Listing(
        title=f"{new} against {base}",
        headings=MEDIANS,
        rows=[(each.cell, _ratio(each.throughput)) for each in comparison.changes],
        lines=[
            "Ratios of medians from pytest-benchmark files, without intervals: rounds of one "
            "process do not show how much the next process differs.",
            *_left_out(comparison),
        ],
    )


def as_json(comparison: Comparison, base: str, new: str, failures: Sequence[str]) -> str:
    """Strict JSON; a change has cell, verdict, and Ratios (see welch.Ratio)."""
    content: dict[str, Any] = {"base": base, "new": new, "failures": list(failures)}
    content |= asdict(comparison)
    for entry, change in zip(content["changes"], comparison.changes, strict=True):
        entry["verdict"] = change.verdict
    return listing.strict_json(content)


def _row(change: Change) -> tuple[str, ...]:
    return (
        change.cell,
        UNKNOWN if change.base_speedup is None else f"{change.base_speedup:.3f}×",
        UNKNOWN if change.new_speedup is None else f"{change.new_speedup:.3f}×",
        _ratio(change.speedup),
        change.verdict,
        _ratio(change.throughput),
    )


def _ratio(found: Ratio | None) -> str:
    if found is None:
        return UNKNOWN
    if found.low is None or found.high is None:
        return f"{found.value:.3f}"
    return f"{found.value:.3f} ({found.low:.3f}–{found.high:.3f})"


def _failed(failures: Sequence[str]) -> list[str]:
    return [f"FAILED {line}" for line in failures]


def _lines(comparison: Comparison) -> list[str]:
    lines = [
        "new / base speed-up: each run's own paired figure, so the machine's drift between the "
        "runs cancels; a slowdown that hits both arms alike cancels too.",
        "new / base throughput: that of the candidate arm; its interval does not know how the "
        "machine drifted between the runs.",
    ]
    if comparison.revision:
        lines.append(comparison.revision)
    if comparison.environment:
        lines.append(f"{MARK} The environments differ: {listed(list(comparison.environment))}.")
    lines += [f"does not run any more: {line}" for line in comparison.broken]
    return lines + _left_out(comparison)


def _left_out(comparison: Comparison) -> list[str]:
    return [f"not compared: {line}" for line in comparison.left_out]
