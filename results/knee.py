"""The knee of the number of loader workers: the fewest that more do not beat."""

from collections.abc import Sequence

from results.record import Record


def knee(records: Sequence[Record]) -> str | None:
    """One sentence on records that differ from their baseline in num_workers alone.

    Each was measured against the same baseline, so that intervals compare. None with fewer than
    two such numbers, on more than one device, or where no interval is known.
    """
    swept = {
        int(record.setting["num_workers"]): record
        for record in records
        if record.outcome == "ok" and record.speedup_low is not None and _workers_alone(record)
    }
    devices = {record.setting.get("device") for record in swept.values()}
    baselines = {str(record.baseline) for record in swept.values()}
    if len(swept) < 2 or len(devices) > 1 or len(baselines) > 1:
        return None
    best = max(swept.values(), key=lambda record: record.speedup or 0.0)
    tried = ", ".join(str(count) for count in sorted(swept))
    if (best.speedup_low or 0.0) <= 1:
        return f"workers: none is shown to pay (tried {tried})"
    enough = min(count for count, record in swept.items() if _reaches(record, best))
    beyond = " at least" if enough == max(swept) else ""
    return f"workers: the knee is{beyond} at {enough} (tried {tried})"


def _workers_alone(record: Record) -> bool:
    knobs = {*record.setting, *record.baseline}
    turned = {knob for knob in knobs if record.setting.get(knob) != record.baseline.get(knob)}
    return turned == {"num_workers"}


def _reaches(record: Record, best: Record) -> bool:
    """Whether its interval reaches the best one's: the best is not shown to be better."""
    return (record.speedup_high or 0.0) >= (best.speedup_low or 0.0)
