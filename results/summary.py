"""What a whole run comes to, in a few lines: how much was measured, how well, how quietly."""

from collections import Counter
from collections.abc import Sequence

from results import wording
from results.controls import is_control, measured, missed
from results.record import OUTCOMES, Record
from results.units import duration


def summary(records: Sequence[Record]) -> list[str]:
    """Lines for below the tables, as text without markup."""
    if not records:
        return ["No cell was measured."]
    lines = [_outcomes(records), _time(records), _controls(records), _notes(records)]
    return [line for line in lines if line]


def _outcomes(records: Sequence[Record]) -> str:
    counts = Counter(record.outcome for record in records)
    found = [f"{counts[name]} {wording.outcome(name)}" for name in OUTCOMES if counts[name]]
    return f"{len(records)} {'cell' if len(records) == 1 else 'cells'}: {', '.join(found)}."


def _time(records: Sequence[Record]) -> str:
    both = [
        (record.timed_s, record.wall_s)
        for record in records
        if record.timed_s is not None and record.wall_s
    ]
    wall = sum(whole for _, whole in both)
    if not wall:
        return ""
    share = sum(timed for timed, _ in both) / wall
    return f"Measured for {duration(wall)}, {share:.0%} of it inside timed blocks."


def _controls(records: Sequence[Record]) -> str:
    controls = [record for record in records if is_control(record) and measured(record)]
    if not controls:
        return "No control (plain against plain) was measured: this run cannot vouch for itself."
    wrong = missed(controls)
    if not wrong:
        them = "The control" if len(controls) == 1 else f"All {len(controls)} controls"
        return f"{them} (plain against plain) found no difference, as it must be."
    readings = [
        f"{record.workload} {wording.speedup(record, wording.places([record]))}" for record in wrong
    ]
    chance = ""
    if len(controls) >= 20:  # below that, one miss is not what chance lets one expect
        chance = f" By chance alone about {len(controls) * (1 - controls[0].confidence):.0f} would."
    exclude = "excludes" if len(wrong) == 1 else "exclude"
    return (
        f"This run is noisy: {len(wrong)} of {len(controls)} controls (plain against plain) "
        f"{exclude} 1.00: {', '.join(readings)}.{chance}"
    )


def _notes(records: Sequence[Record]) -> str:
    """How many cells carry a note, and the first one: all of them stand below the tables."""
    noted = [record for record in records if record.notes]
    if not noted:
        return ""
    first = noted[0]
    carry = "carries" if len(noted) == 1 else "carry"
    return (
        f"{len(noted)} of {len(records)} cells {carry} a note (†): "
        f"{first.workload}, {wording.label(first)}: {first.notes[0]}"
        f"{', ...' if len(noted) > 1 else ''}"
    )
