"""Suggestions as listings, for a page or a terminal, and as JSON."""

from collections.abc import Sequence

from results import listing, wording
from results.columns import Heading
from results.listing import Listing
from results.recommend import Suggestion, reading

UNTESTED = (
    "Each was measured alone against the plain setting: together they are untested. "
    "To try them on top of each other: nox -s recipe."
)
HEADINGS = (
    Heading("advice", "advice", right=False),
    Heading("technique", "setting", right=False),
    Heading("speedup", "speed-up alone (95% interval)"),
    Heading("verdict", "verdict", right=False),
)


def as_listings(found: Sequence[Suggestion]) -> list[Listing]:
    return [_listing(each) for each in found]


def _listing(found: Suggestion) -> Listing:
    kinds = (
        ("turn on", found.take),
        ("instead of one above", found.instead),
        ("only on top of", found.only_on),
        ("leave off", found.leave),
    )
    rows = [
        (advice, wording.label(record), reading(record), wording.verdict(record))
        for advice, records in kinds
        for record in records
    ]
    rows += [
        ("not measured", wording.label(record), wording.UNKNOWN, wording.outcome(record.outcome))
        for record in found.untried
    ]
    return Listing(
        title=f"{found.workload}, {found.scale}, {found.device}: {headline(found)}",
        headings=HEADINGS,
        rows=rows,
        lines=_lines(found),
    )


def headline(found: Suggestion) -> str:
    """workers2 + fused (untested in combination), workers2, or plain."""
    names = " + ".join(record.technique for record in found.take) or "plain"
    return f"{names} (untested in combination)" if len(found.take) > 1 else names


def _lines(found: Suggestion) -> list[str]:
    lines = [UNTESTED] if found.take else ["Nothing measured alone here beats the plain setting."]
    if found.noisy:
        worst = max(found.noisy, key=lambda record: abs((record.speedup or 1.0) - 1))
        lines.append(
            f"A control reads {reading(worst)} instead of 1: this run is noisy, take it as a hint."
        )
    return lines


def as_json(found: Sequence[Suggestion]) -> str:
    """{"suggestions": [{workload, scale, device, tested_in_combination, take: [...], ...}]}."""
    kinds = ("take", "instead", "only_on", "leave")
    content = [
        {
            "workload": each.workload,
            "scale": each.scale,
            "device": each.device,
            "tested_in_combination": len(each.take) < 2,
            "noisy": bool(each.noisy),
            **{
                kind: [
                    {
                        "technique": record.technique,
                        "speedup": record.speedup,
                        "speedup_low": record.speedup_low,
                        "speedup_high": record.speedup_high,
                        "verdict": record.verdict,
                        "setting": record.setting,
                        "baseline": record.baseline,
                    }
                    for record in getattr(each, kind)
                ]
                for kind in kinds
            },
            "untried": [
                {"technique": record.technique, "outcome": record.outcome, "reason": record.reason}
                for record in each.untried
            ],
        }
        for each in found
    ]
    return listing.strict_json({"suggestions": content})
