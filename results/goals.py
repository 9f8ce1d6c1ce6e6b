"""What a table is about besides throughput: its title, its columns, and its one sentence."""

from collections.abc import Sequence

from results import wording
from results.controls import measured, shown_faster
from results.record import Record
from results.units import number

TARGET_COLUMNS = (
    "technique",
    "target_s",
    "baseline_target_s",
    "target_steps",
    "baseline_target_steps",
    "target_speedup",
    "verdict",
)
LARGEST_COLUMNS = ("technique", "batch", "peak_memory_bytes", "resident_bytes")


def title(records: Sequence[Record]) -> str:
    """What follows the workload, scale and device in a table's title; nothing of a throughput."""
    goal = records[0].goal
    if goal == "time_to_target":
        losses = {f"{r.target_loss:g}" for r in records if r.target_loss is not None}
        return " ".join(("time to a training loss", *(f"of {loss}" for loss in losses)))
    return "largest batch" if goal == "largest_batch" else ""


def columns(records: Sequence[Record]) -> list[str] | None:
    """The columns of a table that is not about throughput."""
    goal = records[0].goal
    if goal == "time_to_target":
        return list(TARGET_COLUMNS)
    if goal == "largest_batch":
        return [
            key
            for key in LARGEST_COLUMNS
            if key == "technique" or any(getattr(record, key) is not None for record in records)
        ]
    return None


def advice(records: Sequence[Record]) -> str:
    """One sentence, of records that are not about throughput."""
    shown = [record for record in records if measured(record)]
    if not shown:
        return "Nothing was measured."
    if shown[0].goal == "largest_batch":
        return " ".join(
            f"The largest batch that fits is {_at_least(record)}{number(record.batch or 0, 0)} "
            "per device."
            for record in shown
        )
    faster = [record for record in shown if shown_faster(record)]
    if not faster:
        return "No other batch is shown to reach the target loss sooner than the plain setting."
    best = max(faster, key=lambda record: record.speedup or 0.0)
    ratio = wording.speedup(best, wording.places([best]))
    return f"{best.technique} reaches the target loss {ratio} as fast as the plain setting."


def _at_least(record: Record) -> str:
    """Nothing larger was refused: there was no time to try."""
    return "" if any(a["outcome"] == "out_of_memory" for a in record.attempts) else "at least "
