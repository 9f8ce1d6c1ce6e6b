"""Every technique with what it changes, why, its API, and whether this machine can run it."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby

from benchmarks.hardware import Glance, Hardware
from benchmarks.matrix import PRECISIONS, parallel_axis, worker_counts
from benchmarks.setting import Setting
from benchmarks.techniques import FAMILIES, Technique, device_needs, workers
from results import listing
from results.columns import Heading
from results.listing import Listing

FORMATS = ("terminal", "markdown", "json")
MATRIX = "matrix"
HEADINGS = (
    Heading("technique", "technique", right=False),
    Heading("change", "changes", right=False),
    Heading("why", "why", right=False),
    Heading("api", "PyTorch", right=False),
    Heading("here", "here", right=False),
)


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A technique on one device type.

    on: what it is compared on top of; empty: the plain setting. only_for: the workloads that it
    means something for; None: any. impossible: why this machine cannot run it, None where it can.
    """

    family: str
    technique: str
    change: str
    on: str
    only_for: str | None
    why: str
    api: str
    impossible: str | None


def by_family(device: str, seen: Glance) -> Iterator[tuple[str, Technique]]:
    """The matrix's axes, then every family's, in the registry's order."""
    axes = [workers(count) for count in worker_counts(seen.usable_cores)]
    for technique in (*axes, *PRECISIONS, *parallel_axis(device, seen)):
        yield MATRIX, technique
    for family, techniques in FAMILIES.items():
        for technique in techniques(seen.usable_cores):
            yield family, technique


def entries(hardware: Hardware, seen: Glance, device: str) -> list[Entry]:
    """Of all techniques but those that name a plain value of an axis."""
    return [
        entry(family, technique, hardware, device)
        for family, technique in by_family(device, seen)
        if technique.changes(technique.baseline(device))
    ]


def entry(family: str, technique: Technique, hardware: Hardware, device: str) -> Entry:
    baseline = technique.baseline(device)
    return Entry(
        family=family,
        technique=technique.name,
        change=", ".join(f"{knob}={_value(value)}" for knob, value in technique.change.items()),
        on=" + ".join(ground.name for ground in technique.on),
        only_for=technique.only_for.words if technique.only_for else None,
        why=technique.why,
        api=technique.api,
        impossible=impossible(technique, baseline, hardware),
    )


def _value(value: object) -> str:
    """A number without what floats add to it; variables of the environment as a shell has them."""
    if isinstance(value, tuple):
        return " ".join(f"{name}={text}" for name, text in value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def impossible(technique: Technique, baseline: Setting, hardware: Hardware) -> str | None:
    """As a cell decides it: the device first, then every technique under the whole setting."""
    setting = technique.apply(baseline)
    if reason := device_needs(hardware, setting):
        return reason
    reasons = (each.needs(hardware, setting) for each in (*technique.on, technique))
    return next((reason for reason in reasons if reason), None)


def as_listings(found: Sequence[Entry], hardware: Hardware, device: str) -> list[Listing]:
    """One list a family, and what all of them come to below the last."""
    able = {each.technique: each.impossible is None for each in found}
    closing = [
        f"{sum(able.values())} of {len(able)} techniques can run here on {device} "
        f"({hardware.usable_cores} cores, {_gpus(hardware)}, torch {hardware.torch}).",
        "To measure a family: pytest benchmarks/test_FAMILY.py. To find the best combination: "
        "nox -s recipe.",
    ]
    families = [(name, list(each)) for name, each in groupby(found, lambda entry: entry.family)]
    return [
        Listing(
            title=name,
            headings=HEADINGS,
            rows=[_row(each) for each in listed],
            lines=closing if name == families[-1][0] else (),
        )
        for name, listed in families
    ]


def _row(each: Entry) -> tuple[str, ...]:
    change = f"{each.change}, on {each.on}" if each.on else each.change
    here = f"no: {each.impossible}" if each.impossible else "yes"
    if each.only_for and not each.impossible:
        here = f"yes, for {each.only_for}"
    return each.technique, change, each.why, each.api, here


def _gpus(hardware: Hardware) -> str:
    names = [gpu.name for gpu in hardware.gpus]
    if not names:
        return "no GPU"
    return f"{len(names)} × {names[0]}" if len(set(names)) == 1 else ", ".join(names)


def as_json(found: Sequence[Entry]) -> str:
    """{"techniques": [...]}, an Entry's fields each."""
    return listing.strict_json({"techniques": [asdict(each) for each in found]})
