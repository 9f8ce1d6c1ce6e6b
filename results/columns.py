"""What a table's columns show: one declaration per column, everything else from the field's name.

A column sees all rows at once, because unit and decimals belong to the column.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from results import wording
from results.controls import against_plain
from results.flat import flat
from results.record import MARGIN, Record
from results.units import choose, decimals, family, number

Words = Callable[[Sequence[Record]], list[str]]


@dataclass(frozen=True)
class Heading:
    """The head of a finished column; `legend` explains it to somebody who sees it first."""

    key: str
    text: str
    legend: str = ""  # nothing to explain
    right: bool = True


@dataclass(frozen=True)
class Column:
    """How a column differs from the plain showing of its field.

    `header` may hold {unit} (the column's) and {samples} (images, tokens); `words` gives all cells.
    """

    header: str
    legend: str = ""
    words: Words | None = None
    right: bool = True


def _labels(records: Sequence[Record]) -> list[str]:
    return [wording.label(record) + (" †" if wording.remarks(record) else "") for record in records]


def _speedups(records: Sequence[Record]) -> list[str]:
    places = wording.places(records)
    return [wording.speedup(record, places) for record in records]


def _batches(records: Sequence[Record]) -> list[str]:
    return [wording.UNKNOWN if r.batch is None else number(r.batch, 0) for r in records]


def _verdicts(records: Sequence[Record]) -> list[str]:
    return [wording.verdict(record) for record in records]


COLUMNS: Mapping[str, Column] = {
    "technique": Column("setting", words=_labels, right=False),
    "setting.device": Column("device", right=False),
    "baseline.device": Column("against", "the device that the row is compared with", right=False),
    "batch": Column("batch", words=_batches),
    "samples_per_s": Column("{samples}/s"),
    "step_s.median": Column("step, median ({unit})"),
    "step_s.p90": Column("step, p90 ({unit})", "nine steps in ten take no longer"),
    "speedup": Column(
        "speed-up ({confidence} interval)",
        "{samples}/s over {baseline}, the two measured in turns",
        _speedups,
        right=False,
    ),
    "target_s": Column("to the target ({unit})", "seconds of training until the loss was there"),
    "baseline_target_s": Column("plain's ({unit})"),
    "target_steps": Column("steps"),
    "baseline_target_steps": Column("plain's steps"),
    "target_speedup": Column(
        "time to target ({confidence} interval)",
        "plain's seconds over its own: above 1 is sooner there",
        _speedups,
        right=False,
    ),
    "verdict": Column("verdict", words=_verdicts, right=False),
    "gpu_utilization_pct": Column("GPU busy ({unit})", "share of time in which it ran anything"),
    "cpu_utilization_pct": Column("CPU ({unit})", "100 is one core"),
    "peak_memory_bytes": Column(
        "peak memory ({unit})", "most that training allocated on one device"
    ),
    "resident_bytes": Column("memory ({unit})", "RAM of all its processes"),
}

VERDICT_LEGEND = {
    "faster": "faster: interval wholly above 1",
    "slower": "slower: interval wholly below 1",
    "same": f"same: interval wholly within 1 ± {MARGIN:g}",
    "unclear": "unclear ±x%: a difference below x% would not show",
}


def default(records: Sequence[Record]) -> list[str]:
    """The columns that answer what pays here, for the measured records of one table.

    GPU figures where there are any, the CPU's where a row has none; what tells rows apart
    (device, the baseline's device, at last the case id) only where it is needed.
    """
    return [
        "technique",
        *_distinguishing(records),
        "samples_per_s",
        "step_s.median",
        "step_s.p90",
        "speedup",
        "verdict",
        *_first_known(records, "gpu_utilization_pct", "cpu_utilization_pct"),
        *_first_known(records, "peak_memory_bytes", "resident_bytes"),
    ]


def _distinguishing(records: Sequence[Record]) -> list[str]:
    found = []
    if len({record.setting.get("device") for record in records}) > 1:
        found.append("setting.device")
    foreign = any(
        record.baseline.get("device") != record.setting.get("device") for record in records
    )
    if len(records) > 1 and foreign:
        found.append("baseline.device")
    if len({(wording.label(r), str(r.setting), str(r.baseline)) for r in records}) < len(records):
        found.append("cell")
    return found


def _first_known(records: Sequence[Record], preferred: str, fallback: str) -> list[str]:
    known = [getattr(record, preferred) is not None for record in records]
    keys = [preferred] if any(known) else []
    if not all(known) and any(getattr(record, fallback) is not None for record in records):
        keys.append(fallback)
    return keys


def differing_knobs(settings: Sequence[Mapping[str, object]]) -> list[str]:
    """Names of the knobs that do not have one and the same value in all settings."""
    knobs = dict.fromkeys(key for setting in settings for key in setting)
    return [key for key in knobs if len({repr(setting.get(key)) for setting in settings}) > 1]


def plain_setting(records: Sequence[Record]) -> str:
    """The plain value of every knob that some row turns; empty where no row is against plain."""
    baselines = [record.baseline for record in against_plain(records)]
    if not baselines:
        return ""
    turned = {
        knob
        for record in records
        for knob in differing_knobs([record.baseline, record.setting])
        if knob != "device"
    }
    return ", ".join(_knob(knob, value) for knob, value in baselines[0].items() if knob in turned)


def _knob(name: str, value: object) -> str:
    """precision fp32, and the bare value where the name only repeats it."""
    return str(value) if name == "device" else f"{name} {value}"


def finish(
    keys: Sequence[str], records: Sequence[Record]
) -> tuple[list[Heading], list[tuple[str, ...]]]:
    """Headings and rows of text for these columns, one row per record, in their order."""
    values = {key: [flat(record).get(key) for record in records] for key in keys}
    headings, cells = [], []
    for key in keys:
        column = COLUMNS.get(key, Column(_header(key)))
        unit = ""
        if column.words is not None:
            texts = column.words(records)
        elif _numbers(values[key]):
            _, units = family(key)
            together = _sharing_a_unit(key, values)
            chosen = choose(together, units)
            unit = chosen.symbol
            # Shares are read as whole percents; what was measured to less is not shown.
            places = 0 if unit == "%" else decimals([value / chosen.size for value in together])
            scaled = [_scaled(value, chosen.size) for value in values[key]]
            texts = [wording.UNKNOWN if v is None else number(v, places) for v in scaled]
        else:
            texts = [wording.UNKNOWN if v is None else str(v) for v in values[key]]
        headings.append(
            _heading(key, column, unit, records, keys, is_number=bool(_numbers(values[key])))
        )
        cells.append(texts)
    return headings, list(zip(*cells, strict=True)) if cells else []


def _header(key: str) -> str:
    name, units = family(key)
    words = name.replace("_", " ").replace(".", " ")
    return words if len(units) == 1 and not units[0].symbol else f"{words} ({{unit}})"


def _heading(
    key: str,
    column: Column,
    unit: str,
    records: Sequence[Record],
    keys: Sequence[str],
    *,
    is_number: bool,
) -> Heading:
    confidences = {record.confidence for record in records}
    plain = "baseline.device" not in keys and not any(record.on for record in records)
    facts = {
        "unit": unit or "unknown",
        "baseline": "plain's" if plain else "its baseline's",
        "samples": records[0].unit if records else "samples",
        "confidence": f"{confidences.pop():.0%}" if len(confidences) == 1 else "its",
    }
    text = column.header.format(**facts).replace(" (unknown)", "")
    name = text.partition(" (")[0]
    legend = f"{name}: {column.legend.format(**facts)}" if column.legend else ""
    if key == "verdict":
        given = {record.verdict for record in records}
        if all(record.detectable is None for record in records):
            given.discard("unclear")
        legend = ", ".join(text for name, text in VERDICT_LEGEND.items() if name in given)
    return Heading(key, text, legend, column.right and (is_number or key in COLUMNS))


def _sharing_a_unit(key: str, values: Mapping[str, Sequence[object]]) -> list[float]:
    """The numbers of every shown column of the same quantity: a step's median, p90 and so on."""

    def quantity(name: str) -> str:
        return name.partition(".")[0].removeprefix("baseline_")

    return [
        number
        for other, column in values.items()
        if quantity(other) == quantity(key)
        for number in _numbers(column)
    ]


def _numbers(values: Sequence[object]) -> list[float]:
    """The numbers of a column; none where it holds anything else."""
    known = [value for value in values if value is not None]
    if not all(isinstance(value, int | float) and not isinstance(value, bool) for value in known):
        return []
    return [float(value) for value in known if isinstance(value, int | float)]


def _scaled(value: object, size: float) -> float | None:
    return float(value) / size if isinstance(value, int | float) else None
