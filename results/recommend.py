"""Advice from techniques that were measured one at a time: what looks worth having together.

Untested in combination: techniques interact, and only a ladder (`nox -s recipe`) tries them on top
of each other.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from results import wording
from results.controls import is_control, measured, missed, shown_faster
from results.record import Record


@dataclass(frozen=True, kw_only=True)
class Suggestion:
    """For one workload, scale and device.

    take: of each knob the fastest value that was shown to pay on the plain setting, fastest first.
    instead: shown to pay too, but it turns a knob that one of `take` turns.
    only_on: shown to pay on top of another technique, and was not tried on the plain setting.
    leave: not shown to pay. untried: could not be measured.
    """

    workload: str
    scale: str
    device: str
    take: tuple[Record, ...]
    instead: tuple[Record, ...]
    only_on: tuple[Record, ...]
    leave: tuple[Record, ...]
    untried: tuple[Record, ...]
    noisy: tuple[Record, ...]  # controls that do not read 1.00


def suggestions(records: Sequence[Record]) -> list[Suggestion]:
    """In the order in which workloads were measured; cells of several techniques are left out."""
    groups: dict[tuple[str, str, str], list[Record]] = {}
    for record in records:
        device = str(record.setting.get("device"))
        if record.goal == "throughput" and device == record.baseline.get("device"):
            groups.setdefault((record.workload, record.scale, device), []).append(record)
    return [_suggestion(*key, group) for key, group in groups.items()]


def _suggestion(workload: str, scale: str, device: str, group: Sequence[Record]) -> Suggestion:
    single = list({r.technique: r for r in group if is_single(r)}.values())  # the last one counts
    known = [record for record in single if measured(record)]
    pays = sorted(
        filter(shown_faster, known),
        key=lambda record: -(record.speedup or 0.0),
    )
    take: list[Record] = []
    instead: list[Record] = []
    for record in pays:
        if not record.on:
            turned = set().union(*(turned_knobs(other) for other in take))
            (instead if turned & turned_knobs(record) else take).append(record)
    return Suggestion(
        workload=workload,
        scale=scale,
        device=device,
        take=tuple(take),
        instead=tuple(instead),
        only_on=tuple(record for record in pays if record.on),
        leave=tuple(record for record in known if record not in pays),
        untried=tuple(record for record in single if not measured(record)),
        noisy=tuple(missed(group)),
    )


def is_single(record: Record) -> bool:
    """One technique against a baseline without it: " + " joins the names of several."""
    return not is_control(record) and " + " not in record.technique.removesuffix(record.on)


def turned_knobs(record: Record) -> set[str]:
    knobs = {*record.setting, *record.baseline}
    return {knob for knob in knobs if record.setting.get(knob) != record.baseline.get(knob)}


def reading(record: Record) -> str:
    return wording.speedup(record, wording.places([record]))
