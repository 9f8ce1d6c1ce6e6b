"""Which records of two runs are the same cell: not by name alone, the setting must be the same."""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from results.record import Record


class ComparisonError(ValueError):
    """Two runs that have nothing to compare; the message is one line."""


class Identity(NamedTuple):
    """What must agree before two measurements may be compared. Settings are canonical JSON."""

    cell: str
    workload: str
    scale: str
    setting: str
    baseline: str


def identity(record: Record) -> Identity:
    return Identity(
        record.cell,
        record.workload,
        record.scale,
        canonical(record.setting),
        canonical(record.baseline),
    )


def canonical(setting: Mapping[str, Any]) -> str:
    """The same text for the same knobs, in whatever order they were written."""
    return json.dumps(setting, sort_keys=True, separators=(",", ":"))


def disagreement(one: Identity, other: Identity) -> str:
    """In which words two identities differ: "scale tiny → small, setting.precision fp32 → bf16"."""
    words = [
        f"{name} {getattr(one, name)} → {getattr(other, name)}"
        for name in ("cell", "workload", "scale")
        if getattr(one, name) != getattr(other, name)
    ]
    for name in ("setting", "baseline"):
        before, after = (json.loads(getattr(each, name)) for each in (one, other))
        words += [
            f"{name}.{knob} {_word(before, knob)} → {_word(after, knob)}"
            for knob in dict.fromkeys([*before, *after])
            if _word(before, knob) != _word(after, knob)
        ]
    return ", ".join(words)


def _word(setting: Mapping[str, Any], knob: str) -> str:
    return json.dumps(setting[knob]).strip('"') if knob in setting else "(absent)"
