"""A record as one flat row: `step_s` becomes `step_s.median`, `setting` becomes `setting.device`.

These names are the columns of the CSV and what `--columns` and `--sort` take.
"""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

from results.record import Record, StepTimes

LEFT_OUT = ("blocks",)  # raw seconds, thousands of them: read records.jsonl
STEP_FIELDS = ("step_s", "baseline_step_s")


class ColumnError(ValueError):
    """A column that no record has; the message is one line."""


def flat(record: Record) -> dict[str, Any]:
    """All fields of a record without nested objects; lists stay lists, unknown is None."""
    row: dict[str, Any] = {}
    for name, value in asdict(record).items():
        if name in LEFT_OUT:
            continue
        if name in STEP_FIELDS:
            for quantile in StepTimes.__annotations__:
                row[f"{name}.{quantile}"] = (value or {}).get(quantile)
        elif isinstance(value, Mapping):
            row.update(_spread(name, value))
        else:
            row[name] = value
    return row


def _spread(prefix: str, value: Mapping[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for key, inner in value.items():
        name = f"{prefix}.{key}"
        row.update(_spread(name, inner) if isinstance(inner, Mapping) else {name: inner})
    return row


def number_type(name: str) -> type[int] | type[float] | None:
    """What the schema says a column holds, whether or not any record knows its value."""
    if name.partition(".")[0] in STEP_FIELDS:
        return float
    hint = next((field.type for field in fields(Record) if field.name == name), None)
    if hint in (int, int | None):
        return int
    return float if hint in (float, float | None) else None


def names(records: Iterable[Record]) -> list[str]:
    """The columns of these records, in the order of the schema."""
    found: dict[str, None] = {}
    for record in records:
        found.update(dict.fromkeys(flat(record)))
    order = {field.name: place for place, field in enumerate(fields(Record))}
    return sorted(found, key=lambda name: order[name.partition(".")[0]])


def check(wanted: Sequence[str], known: Sequence[str]) -> None:
    """Raises ColumnError for a name that is not known, with those that look like it."""
    for name in wanted:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
            hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(known)}"
            raise ColumnError(f"no column {name!r}: {hint}")


def ordered(records: Sequence[Record], column: str, *, ascending: bool = False) -> list[Record]:
    """Records by one column, the largest number (or, for text, Z) first unless ascending.

    Records where it is unknown come last either way. Ties keep their order.
    """
    keyed = [(record, flat(record).get(column)) for record in records]
    known = [(record, value) for record, value in keyed if value is not None]
    is_number = all(isinstance(value, int | float) for _, value in known)
    known.sort(key=lambda pair: pair[1] if is_number else str(pair[1]), reverse=not ascending)
    unknown = [record for record, value in keyed if value is None]
    return [record for record, _ in known] + unknown
