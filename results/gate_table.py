"""The gate's answer as one table: for a terminal, a pull request, and other programs."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from results import listing
from results.columns import Heading
from results.gate import Finding, Result
from results.listing import Listing
from results.wording import UNKNOWN, percent

HEADLINES = {
    "no regression": "No regression found",
    "regression": "Regression",
    "inconclusive": "Inconclusive",
}
HEADINGS = (
    Heading("cell", "cell", right=False),
    Heading("ratio", "new / old throughput (95% interval)"),
    Heading("verdict", "verdict", right=False),
    Heading("detectable", "would have found"),
    Heading("starts", "starts"),
    Heading("memory", "peak memory", right=False),
    Heading("losses", "first losses", right=False),
)


def markdown(result: Result) -> str:
    return listing.markdown(as_listing(result))


def terminal(result: Result, width: int, *, colour: bool = False) -> str:
    return listing.terminal(as_listing(result), width, colour=colour)


def as_json(result: Result) -> str:
    """Strict JSON: outcome, exit_code, reasons, rules, findings (see gate.Finding)."""
    content: dict[str, Any] = {"outcome": result.outcome, "exit_code": result.exit_code}
    return listing.strict_json(content | asdict(result))


def as_listing(result: Result) -> Listing:
    """Cells that fail first, controls last; what the words mean stands below."""
    ordered = sorted(result.findings, key=lambda each: (each.control, not each.problems))
    return Listing(
        title=HEADLINES[result.outcome],
        headings=HEADINGS,
        rows=[_row(each) for each in ordered],
        lines=[*result.reasons, *_explained(result), *result.notes],
    )


def _row(found: Finding) -> tuple[str, ...]:
    return (
        f"{found.cell} (control)" if found.control else found.cell,
        _ratio(found),
        found.verdict,
        UNKNOWN if found.detectable is None else f"−{percent(found.detectable)}",
        f"{found.starts} fresh" if found.confirmed else str(found.starts),
        _check(found.memory.ok),
        _check(found.losses.ok),
    )


def _ratio(found: Finding) -> str:
    if found.ratio is None:
        return UNKNOWN
    if found.low is None or found.high is None:
        return f"{found.ratio:.3f}"
    return f"{found.ratio:.3f} ({found.low:.3f}–{found.high:.3f})"


def _check(ok: bool | None) -> str:
    return {None: UNKNOWN, True: "ok", False: "changed"}[ok]


def _explained(result: Result) -> Sequence[str]:
    rules = result.rules
    lines = [
        f"regressed: slower by more than {percent(rules.margin)}, confirmed on fresh starts; the "
        f"chance of any false alarm in this table is at most {percent(rules.family_error)}.",
    ]
    if any(each.detectable for each in result.findings):
        lines.append(
            f"would have found: the smallest slowdown that had a chance of "
            f"{percent(rules.power)} to be found, given this cell's spread between starts."
        )
    if not any(each.control for each in result.findings):
        lines.append("No control ran: this table cannot vouch for the machine.")
    return lines
