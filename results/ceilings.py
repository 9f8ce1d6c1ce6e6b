"""How close cells come to what bounds them: the loader, computing alone, the device's peak."""

from collections.abc import Mapping, Sequence
from typing import Any

from results.columns import Heading
from results.listing import Listing
from results.record import Record
from results.shares import percent
from results.wording import UNKNOWN, row_name


def ceilings(records: Sequence[Record]) -> Listing | None:
    """The list; None where nothing was attributed."""
    looked = [(record, record.attribution) for record in records if record.attribution]
    if not looked:
        return None
    with_mfu = any(record.mfu is not None for record, _ in looked)
    measured = any(_of_matmul(record, found) is not None for record, found in looked)
    return Listing(
        title="How close to its ceilings",
        headings=[
            Heading("cell", "cell", right=False),
            Heading("loader", "loader alone"),
            Heading("compute", "compute alone"),
            Heading("real", "both"),
            Heading("reached", "reached"),
            *([Heading("mfu", "MFU")] if with_mfu else []),
            *([Heading("matmul", "of matmul ceiling")] if measured else []),
        ],
        rows=[
            [
                row_name(record),
                rate(found.get("loader_samples_per_s")),
                rate(found.get("compute_samples_per_s")),
                rate(real(record)),
                percent(reached(record)),
                *([percent(record.mfu)] if with_mfu else []),
                *([percent(_of_matmul(record, found))] if measured else []),
            ]
            for record, found in looked
        ],
        lines=[_legend(looked, with_mfu, measured)],
    )


def real(record: Record) -> float | None:
    """Units a second with both; of the same minute as the ceilings where that is known."""
    found = record.attribution or {}
    known: float | None = found.get("samples_per_s", record.samples_per_s)
    return known


def reached(record: Record) -> float | None:
    """The real throughput over the lower of the two ceilings, of the loader and of computing."""
    found = record.attribution or {}
    known = [found.get(f"{name}_samples_per_s") for name in ("loader", "compute")]
    rates = [float(ceiling) for ceiling in known if ceiling]
    now = real(record)
    return now / min(rates) if len(rates) == 2 and now else None


def rate(per_s: float | None) -> str:
    """Units a second."""
    return UNKNOWN if per_s is None else f"{per_s:,.0f}/s" if per_s >= 100 else f"{per_s:.1f}/s"


def _of_matmul(record: Record, found: Mapping[str, Any]) -> float | None:
    share: float | None = found.get("of_matmul_ceiling")
    return share if record.mfu is None else None


def _legend(
    looked: Sequence[tuple[Record, Mapping[str, Any]]], with_mfu: bool, measured: bool
) -> str:
    units = " or ".join(dict.fromkeys(record.unit for record, _ in looked))
    said = [
        f"{units} a second; loader alone: nothing is trained",
        "compute alone: one batch stays on the device",
        "both: as in training; reached: both over the lower of the two",
    ]
    if with_mfu:
        said.append("MFU: the model's FLOPs over the device's dense peak")
    if measured:
        said.append(
            "matmul ceiling: FLOPs of large matrix products, measured, as no peak of the device "
            "is known"
        )
    return "; ".join(said) + "."
