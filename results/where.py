"""Where a step's time goes: one list over the cells of a run that were looked into."""

from collections.abc import Mapping, Sequence
from typing import Any

from results import listing
from results.columns import Heading
from results.listing import Listing
from results.record import Record
from results.wording import UNKNOWN, label

PARTS = ("data", "copy", "forward", "backward", "optimizer", "communication", "other")
WORTH_A_COLUMN = 0.005  # of a step


def where(records: Sequence[Record]) -> Listing | None:
    """The list; None where nothing was attributed."""
    looked = [record for record in records if record.attribution]
    if not looked:
        return None
    shares = [_shares(record.attribution or {}) for record in looked]
    with_mfu = any(record.mfu is not None for record in looked)
    parts = [p for p in PARTS if any((each[p] or 0.0) >= WORTH_A_COLUMN for each in shares)]
    return Listing(
        title="Where a step's time goes",
        headings=[
            Heading("cell", "cell", right=False),
            *(Heading(part, part) for part in parts),
            Heading("loader", "loader alone"),
            Heading("compute", "compute alone"),
            Heading("reached", "reached"),
            *([Heading("mfu", "MFU")] if with_mfu else []),
        ],
        rows=[
            _row(record, each, parts, with_mfu) for record, each in zip(looked, shares, strict=True)
        ],
        lines=_lines(looked),
    )


def where_markdown(records: Sequence[Record]) -> str:
    """A section; empty where nothing was attributed."""
    found = where(records)
    return listing.markdown(found) if found else ""


def where_terminal(records: Sequence[Record], width: int, *, colour: bool = False) -> str:
    """As above, for a terminal of `width` characters."""
    found = where(records)
    return listing.terminal(found, width, colour=colour) + "\n" if found else ""


def _row(
    record: Record, shares: Mapping[str, float | None], parts: Sequence[str], with_mfu: bool
) -> list[str]:
    found = record.attribution or {}
    loader, compute = found.get("loader_samples_per_s"), found.get("compute_samples_per_s")
    row = [f"{record.workload}, {label(record)}", *(_percent(shares[part]) for part in parts)]
    row += [_rate(loader), _rate(compute), _percent(reached(record))]
    return [*row, _percent(record.mfu)] if with_mfu else row


def reached(record: Record) -> float | None:
    """The real throughput over the lower of the two ceilings, of the loader and of computing."""
    found = record.attribution or {}
    ceilings = [found.get(f"{name}_samples_per_s") for name in ("loader", "compute")]
    known = [float(ceiling) for ceiling in ceilings if ceiling]
    if len(known) < 2 or not record.samples_per_s:
        return None
    return record.samples_per_s / min(known)


def _shares(attribution: Mapping[str, Any]) -> dict[str, float | None]:
    step_s = attribution.get("step_s")
    seconds = {part: attribution.get(f"{part}_s") for part in PARTS}
    return {
        part: None if not step_s or value is None else value / step_s
        for part, value in seconds.items()
    }


def _lines(records: Sequence[Record]) -> list[str]:
    lines = [
        "Taken in steps of their own. loader alone: samples a second with no training; compute "
        "alone: with one batch kept on the device; reached: the real throughput over the lower.",
    ]
    for record in records:
        found = record.attribution or {}
        if found.get("imbalance"):
            lines.append(
                f"{record.workload}, {label(record)}: rank {found.get('slowest_rank')} is the "
                f"slowest, {found['imbalance'] - 1:.1%} above the mean of the ranks' own steps."
            )
        if record.mfu is None and found.get("of_matmul_ceiling"):
            lines.append(
                f"{record.workload}, {label(record)}: {found['of_matmul_ceiling']:.0%} of the "
                f"measured matmul ceiling, {found['matmul_flops_per_s'] / 1e9:.0f} GFLOP/s "
                "(no peak of this device is known)."
            )
    return lines


def _percent(share: float | None) -> str:
    return UNKNOWN if share is None else f"{share:.0%}"


def _rate(per_s: float | None) -> str:
    return UNKNOWN if per_s is None else f"{per_s:,.0f}/s" if per_s >= 100 else f"{per_s:.1f}/s"
