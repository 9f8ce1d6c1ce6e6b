"""Tables of a run: everything decided (rows, order, units, words), nothing rendered yet."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from results import columns, flat, goals, wording
from results.advice import advice
from results.columns import Heading
from results.controls import is_control, measured
from results.knee import knee
from results.record import Record

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class NotMeasured:
    """Settings without a usable result, all for one reason."""

    outcome: str
    reason: str
    settings: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Table:
    """One workload's finished table: text in its final wording, still without any markup."""

    title: str
    headings: tuple[Heading, ...]
    rows: tuple[tuple[str, ...], ...]
    legend: tuple[str, ...]  # what holds for the whole table; a column's is in its heading
    notes: tuple[str, ...]  # what the † of a row means
    diagnoses: tuple[str, ...]  # what binds a row, one line for all rows of one answer
    not_measured: tuple[NotMeasured, ...]
    advice: str


def workload_tables(
    records: Sequence[Record],
    *,
    sort: str | None = None,
    ascending: bool = False,
    show: Sequence[str] | None = None,
    run: str | None = None,
) -> list[Table]:
    """One table per workload and scale, in the order in which they were first measured.

    sort: a column of `flat`; without it controls come first, then the fastest, device by device.
    show: columns of `flat` instead of the default ones; the setting's name always leads.
    run: the name of the run, for titles that stand beside those of other runs.
    Raises ColumnError for a column that no record has.
    """
    known = flat.names(records)
    flat.check([sort] if sort else [], known)
    flat.check(show or [], [*known, *columns.COLUMNS])
    groups: dict[tuple[str, str, str], list[Record]] = {}
    for record in records:
        groups.setdefault((record.workload, record.scale, record.goal), []).append(record)
    tables = [_table(group, sort, ascending, show) for group in groups.values()]
    return [replace(table, title=f"{run}: {table.title}") if run else table for table in tables]


def frame(records: Sequence[Record]) -> "pd.DataFrame":
    """Every record as a row of a pandas frame, columns as in `flat`, one dtype a column.

    Whole numbers are Int64 and others float64, so that an unknown value turns neither an integer
    into a float nor a column of unknowns into objects. Lists stay lists.
    """
    import pandas as pd

    names = flat.names(records)
    rows = [flat.flat(record) for record in records]
    return pd.DataFrame(
        {name: _series([row.get(name) for row in rows], name) for name in names}, columns=names
    )


def _series(values: list[object], name: str) -> "pd.Series":
    import pandas as pd

    types = {type(value) for value in values if value is not None}
    numeric_field = flat.number_type(name)
    if numeric_field is float or types in ({float}, {int, float}):
        return pd.Series(values, dtype="float64")
    if numeric_field is int or types == {int}:
        return pd.Series(values, dtype="Int64")
    return pd.Series(values, dtype="object")


def _table(
    records: Sequence[Record], sort: str | None, ascending: bool, show: Sequence[str] | None
) -> Table:
    shown = [record for record in records if measured(record)]
    ordered = flat.ordered(shown, sort, ascending=ascending) if sort else in_order(shown)
    if show is not None:
        keys = list(dict.fromkeys(("technique", *show)))
    else:
        keys = (goals.columns(ordered) if ordered else None) or columns.default(ordered)
    headings, rows = columns.finish(keys, ordered) if ordered else ([], [])
    return Table(
        title=_title(records),
        headings=tuple(headings),
        rows=tuple(rows),
        legend=_legend(rows, ordered),
        notes=tuple(
            f"{wording.label(record)}: {remark}"
            for record in ordered
            for remark in wording.remarks(record)
        ),
        diagnoses=diagnoses(ordered),
        not_measured=not_measured(records),
        advice=advice(records) if records[0].goal == "throughput" else goals.advice(records),
    )


def diagnoses(records: Sequence[Record]) -> tuple[str, ...]:
    """Which settings are bound by what, in the rows' order; undiagnosed ones are left out."""
    devices = len({record.setting.get("device") for record in records}) > 1
    found: dict[str, list[str]] = {}
    for record in records:
        if record.diagnosis is not None:
            name = wording.label(record)
            if devices:
                name = f"{record.setting.get('device')}: {name}"
            found.setdefault(record.diagnosis, []).append(name)
    return tuple(
        f"{wording.listed(list(dict.fromkeys(names)))} – {said}" for said, names in found.items()
    )


def in_order(records: Sequence[Record]) -> list[Record]:
    """Devices in the order met; on each the control, then the fastest first."""
    devices = list(dict.fromkeys(str(record.setting.get("device")) for record in records))

    def place(record: Record) -> tuple[int, bool, float]:
        speedup = record.speedup if record.speedup is not None else record.speedup_high or 0.0
        device = devices.index(str(record.setting.get("device")))
        return device, not is_control(record), -speedup

    return sorted(records, key=place)


def not_measured(records: Sequence[Record]) -> tuple[NotMeasured, ...]:
    """Why settings are missing from the table: one entry per reason."""
    devices = len({record.setting.get("device") for record in records}) > 1
    found: dict[tuple[str, str], list[str]] = {}
    for record in records:
        if measured(record):
            continue
        name = wording.label(record)
        device = record.setting.get("device")
        if devices and record.baseline.get("device") == device:
            name = f"{device}: {name}"
        found.setdefault((record.outcome, record.reason or ""), []).append(name)
    return tuple(
        NotMeasured(wording.outcome(outcome), reason, tuple(dict.fromkeys(names)))
        for (outcome, reason), names in found.items()
    )


def _title(records: Sequence[Record]) -> str:
    """resnet18, tiny, cpu, batch 8 per device."""
    first = records[0]
    devices = {str(record.setting["device"]) for record in records if "device" in record.setting}
    batches = {record.batch for record in records if record.batch is not None}
    return ", ".join(
        (
            first.workload,
            first.scale,
            *(devices if len(devices) == 1 else ()),
            *(f"batch {batch} per device" for batch in batches if len(batches) == 1),
            *filter(None, (goals.title(records),)),
        )
    )


def _legend(rows: Sequence[Sequence[str]], records: Sequence[Record]) -> tuple[str, ...]:
    lines = []
    if plain := columns.plain_setting(records):
        lines.append(f"plain: {plain}")
    if any(record.on for record in records):
        lines.append("a on b: both have b, only the row has a")
    if any(is_control(record) for record in records):
        lines.append("control: plain against plain, must read 1.00")
    if found := knee(records):
        lines.append(found)
    if any(text == wording.UNKNOWN for row in rows for text in row):
        lines.append(f"{wording.UNKNOWN}: unknown")
    return tuple(lines)
