"""Two stored runs, cell by cell: what changed from one to the other, and how sure that is.

Runs from different days stand on machines that drifted by far more than what one looks for, so the
figure to trust is the ratio of the two speed-ups: each was measured against its own baseline,
seconds apart, and the drift cancels. Absolute throughput is shown beside it, for what it is worth.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from results import holm
from results.controls import measured
from results.environments import differences, revisions
from results.identity import ComparisonError, Identity, disagreement, identity
from results.record import Record
from results.statistics import Estimate, verdict
from results.welch import Ratio, p_fallen, ratio

FAMILY_ERROR = 0.05  # chance of any false "slower than X%" in one comparison
BROKEN = ("out_of_memory", "failed", "timed_out", "invalid")


@dataclass(frozen=True, kw_only=True)
class Change:
    """One cell of both runs. Ratios are new / base; `throughput` of the candidate arm."""

    cell: str
    base_speedup: float | None
    new_speedup: float | None
    speedup: Ratio | None
    throughput: Ratio | None

    @property
    def verdict(self) -> str:
        """Of the ratio of speed-ups, in the words of record.VERDICTS."""
        found = self.speedup
        if found is None:
            return "unclear"
        bounds = Estimate(speedup=found.value, low=found.low, high=found.high, detectable=None)
        return verdict(bounds)


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """All cells of two runs. `broken` ran in the base and does not in the new run."""

    changes: tuple[Change, ...]
    environment: tuple[str, ...] = ()  # what differs and matters
    revision: str | None = None
    broken: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()  # other cells that are not compared, and why


def compare(
    base: Sequence[Record],
    new: Sequence[Record],
    base_environment: Mapping[str, Any],
    new_environment: Mapping[str, Any],
) -> Comparison:
    """Cells matched by identity, the one that lost most first.

    Raises ComparisonError where no cell is in both, or none was measured in both.
    """
    olds, news = ({identity(each): each for each in records} for records in (base, new))
    both = [name for name in olds if name in news]
    if not both:
        raise ComparisonError(_nothing_in_common(olds, news))
    changes, broken, left_out = [], [], []
    for name in both:
        old, now = olds[name], news[name]
        if _compares(old) and _compares(now):
            changes.append(_change(old, now))
        elif _compares(old) and now.outcome in BROKEN:
            broken.append(f"{name.cell}: {now.outcome}, {now.reason}")
        else:
            lacking = [
                f"{each.outcome} in the {which} run"
                for which, each in (("base", old), ("new", now))
                if not _compares(each)
            ]
            left_out.append(f"{name.cell}: {', '.join(lacking)}")
    if not changes and not broken:
        raise ComparisonError(f"nothing was measured in both runs: {left_out[0]}")
    left_out += _unmatched(olds, news)
    return Comparison(
        changes=tuple(sorted(changes, key=_value)),
        environment=tuple(differences(base_environment, new_environment)),
        revision=revisions(base_environment, new_environment),
        broken=tuple(broken),
        left_out=tuple(left_out),
    )


def compare_medians(base: Mapping[str, float], new: Mapping[str, float]) -> Comparison:
    """Median seconds by fullname, as ratios of speed: base seconds / new seconds, no interval.

    Raises ComparisonError where no benchmark is in both.
    """
    both = [name for name in base if name in new]
    if not both:
        raise ComparisonError("no benchmark with a median is in both files: names must be the same")
    changes = [
        Change(
            cell=name,
            base_speedup=None,
            new_speedup=None,
            speedup=None,
            throughput=Ratio(base[name] / new[name]),
        )
        for name in both
    ]
    alone = [f"{name}: only in the base file" for name in base if name not in new]
    alone += [f"{name}: only in the new file" for name in new if name not in base]
    return Comparison(changes=tuple(sorted(changes, key=_value)), left_out=tuple(alone))


def fallen(comparison: Comparison, margin: float) -> list[str]:
    """What exceeds `margin` (a share) with confidence: one line per cell.

    A cell counts whose ratio of speed-ups is below 1 - margin, by a one-sided Welch test, Holm
    over all cells at FAMILY_ERROR; and one that ran in the base and does not run any more.
    Raises ComparisonError where no cell can be tested: silence would read as a pass.
    """
    tested = {
        each.cell: p
        for each in comparison.changes
        if each.speedup is not None and (p := p_fallen(each.speedup, margin)) is not None
    }
    if not tested and not comparison.broken:
        raise ComparisonError(
            "--fail-above needs cells with at least 2 starts in both runs: "
            "no ratio here has an interval"
        )
    found = holm.adjusted(tested)
    lines = [
        f"{cell}: slower by more than {margin:.3%}".replace(".000%", "%") + f" (p = {p:.2g})"
        for cell, p in found.items()
        if p <= FAMILY_ERROR
    ]
    return [*(f"{line} (ran in the base run)" for line in comparison.broken), *lines]


def _compares(record: Record) -> bool:
    return measured(record) and record.speedup is not None


def _change(old: Record, now: Record) -> Change:
    return Change(
        cell=old.cell,
        base_speedup=old.speedup,
        new_speedup=now.speedup,
        speedup=_speedup_ratio(old, now),
        throughput=_throughput_ratio(old, now),
    )


def _speedup_ratio(old: Record, now: Record) -> Ratio | None:
    if old.log_ratios and now.log_ratios:
        return ratio(old.log_ratios, now.log_ratios)
    return _plain(old.speedup, now.speedup)


def _throughput_ratio(old: Record, now: Record) -> Ratio | None:
    """From what every start processed; its interval knows nothing of drift between the runs."""
    before, after = _log_rates(old), _log_rates(now)
    if before and after:
        return ratio(before, after)
    return _plain(old.samples_per_s, now.samples_per_s)


def _log_rates(record: Record) -> list[float]:
    """Log samples/s of the candidate arm, one per start."""
    totals: dict[int, tuple[float, float]] = {}
    for block in record.blocks:
        if block["arm"] == "candidate":
            samples, seconds = totals.get(block["start"], (0.0, 0.0))
            totals[block["start"]] = (samples + block["samples"], seconds + block["seconds"])
    return [
        math.log(samples / seconds)
        for samples, seconds in totals.values()
        if samples > 0 and seconds > 0
    ]


def _plain(before: float | None, after: float | None) -> Ratio | None:
    if not before or not after or before < 0 or after < 0:
        return None
    return Ratio(after / before)


def _value(change: Change) -> float:
    found = change.speedup or change.throughput
    return found.value if found else math.inf


def _unmatched(olds: Mapping[Identity, Record], news: Mapping[Identity, Record]) -> list[str]:
    """Cells of one run only; one whose name is in both says what makes it another cell."""
    by_name = {name.cell: name for name in news}
    lines, explained = [], set()
    for name in olds:
        if name in news:
            continue
        if name.cell in by_name and by_name[name.cell] not in olds:
            lines.append(f"{name.cell}: {disagreement(name, by_name[name.cell])}")
            explained.add(by_name[name.cell])
        else:
            lines.append(f"{name.cell}: only in the base run")
    alone = [name for name in news if name not in olds and name not in explained]
    return lines + [f"{name.cell}: only in the new run" for name in alone]


def _nothing_in_common(olds: Mapping[Identity, Record], news: Mapping[Identity, Record]) -> str:
    if not olds or not news:
        return f"the {'base' if not olds else 'new'} run has no records"
    example = _unmatched(olds, news)[0]
    return f"no cell in common ({len(olds)} and {len(news)} cells), as {example}"
