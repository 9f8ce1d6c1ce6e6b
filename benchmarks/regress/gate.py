"""The gate's two stages: screen every cell, then measure the suspects again on fresh starts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.cell import Cell
from results.gate import Evidence, Result, Rules, judge, to_confirm
from results.gate_evidence import evidence
from results.record import Record

BROKEN = ("failed", "out_of_memory", "timed_out", "invalid")


@dataclass(frozen=True)
class Gated:
    """A cell of the gate. A control runs the old environment in both arms."""

    cell: Cell
    control: bool = False

    @property
    def name(self) -> str:
        return f"control[{self.cell.id}]" if self.control else f"regress[{self.cell.id}]"


def with_controls(cells: Sequence[Cell]) -> list[Gated]:
    """The cells, and a control for the first of each workload."""
    firsts = {cell.workload: cell for cell in reversed(cells)}
    return [Gated(cell, control=True) for cell in firsts.values()] + [Gated(cell) for cell in cells]


def run_gate(
    gated: Sequence[Gated], measure: Callable[[Gated, int], Record], rules: Rules
) -> Result:
    """Both stages. `measure(cell, stage)` measures on fresh starts, stage 0 screens, 1 confirms."""
    screened = {each.name: measure(each, 0) for each in gated}
    suspects = set(to_confirm([judged(each, screened, {}) for each in gated], rules))
    confirmed = {each.name: measure(each, 1) for each in gated if each.name in suspects}
    return judge([judged(each, screened, confirmed) for each in gated], rules)


def judged(
    each: Gated, screened: Mapping[str, Record], confirmed: Mapping[str, Record]
) -> Evidence:
    """What the records of a cell say; a new environment that breaks where the old one ran fails."""
    first, second = screened[each.name], confirmed.get(each.name)
    broken = None if each.control else broken_by_the_new(second or first)
    return evidence(first, second, control=each.control, broken=broken)


def broken_by_the_new(record: Record) -> str | None:
    """Why the new environment failed; None where it ran, or where the old one failed first."""
    reason = record.reason or ""
    if record.outcome not in BROKEN or reason.startswith("baseline"):
        return None
    if record.outcome == "timed_out" and record.log_ratios:
        return None  # too slow for more starts is a matter of speed
    return f"{record.outcome}: {reason}"
