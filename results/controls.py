"""Whether a run can tell anything at all: its controls (A/A cells) must read 1.00."""

from collections.abc import Iterable, Sequence

from results.record import Record

CONTROL = "control"


def is_control(record: Record) -> bool:
    """Whether both arms ran the same setting."""
    return record.technique == CONTROL


def measured(record: Record) -> bool:
    """Whether there is something to compare: an interval's centre or at least a bound.

    Cells that ran out of time keep what they measured; a number from a cell whose technique
    did not take effect would be an answer to another question.
    """
    if record.goal == "largest_batch":
        return record.outcome == "ok"
    has_number = record.speedup is not None or record.speedup_high is not None
    return has_number and record.outcome in ("ok", "timed_out")


def shown_faster(record: Record) -> bool:
    """Whether a cell that counts says so with its whole interval."""
    return record.outcome == "ok" and record.verdict == "faster"


def missed(records: Iterable[Record]) -> list[Record]:
    """The controls that claim a difference where there is none.

    An interval that excludes 1.00 but lies wholly within the margin (verdict "same") claims
    nothing that a verdict of this run could be wrong about, so it is not one of them.
    """
    return [
        record
        for record in records
        if is_control(record) and measured(record) and record.verdict in ("faster", "slower")
    ]


def against_plain(records: Sequence[Record]) -> list[Record]:
    """The records whose baseline is the plain setting, on whatever device.

    The others ("pin_memory on workers2") stand beside another baseline: their speed-ups do not
    compare with these.
    """
    return [record for record in records if not record.on]
