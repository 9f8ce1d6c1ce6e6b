"""One calibration: rounds of a live gate and a few slowed starts, until gates or time are spent."""

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from benchmarks.calibrate.gates import DRAWN_GATES, Bank, drawn_gates
from benchmarks.regress.gate import Gated, run_gate
from results.calibration import Detection, Spread
from results.gate import Rules
from results.record import Record
from results.slowdown import smallest_detectable

EXTRA_WORK = (0.03, 0.05, 0.10)
SLOWED_STARTS = 2  # in a round, of one kind of slowdown; even, so that launch orders balance
STARTS_ASKED = (2, 4, 8, 16)

# measure(cell, starts, extra) is a record of fresh starts; None: as many as screening takes
Measure = Callable[[Gated, int | None, float], Record]


@dataclass
class Session:
    """What a calibration saw so far; readable at any time, whatever ended it."""

    gated: Sequence[Gated]
    slow: Gated  # the cell that slowdowns are put into
    rules: Rules
    starts: int
    drawn_gates: int = DRAWN_GATES  # for each slowdown
    bank: Bank = field(default_factory=Bank)
    outcomes: list[str] = field(default_factory=list)
    gates_s: float = 0.0

    def run(
        self,
        measure: Measure,
        new_round: Callable[[int], None],
        *,
        gates: int,
        budget_s: float,
        clock: Callable[[], float],
    ) -> None:
        """Rounds, as long as another one like the longest so far ends within the budget.

        `new_round(number)` is told before each: both environments start afresh there, as they do
        for each gate of `regress`.
        """
        began = clock()
        longest_s = 0.0
        for number in range(gates):
            round_began = clock()
            if number and round_began - began + longest_s > budget_s:
                return
            new_round(number)
            self._gate(measure)
            self.gates_s += clock() - round_began
            extra = EXTRA_WORK[number % len(EXTRA_WORK)]
            self.bank.put(self.slow.name, extra, measure(self.slow, SLOWED_STARTS, extra))
            longest_s = max(longest_s, clock() - round_began)

    def _gate(self, measure: Measure) -> None:
        def unchanged(each: Gated, stage: int) -> Record:
            record = measure(each, self.rules.confirm_starts if stage else None, 0.0)
            self.bank.put(each.name, 0.0, record)
            return record

        self.outcomes.append(run_gate(self.gated, unchanged, self.rules).outcome)

    def detections(self) -> tuple[Detection, ...]:
        return tuple(
            self._detection(extra)
            for extra in EXTRA_WORK
            if self.bank.log_ratios(self.slow.name, extra)
        )

    def _detection(self, extra: float) -> Detection:
        ratios = self.bank.log_ratios(self.slow.name, extra)
        drawn = drawn_gates(
            self.gated,
            self.slow,
            self.bank,
            extra,
            self.rules,
            starts=self.starts,
            gates=self.drawn_gates,
        )
        return Detection(
            extra_work=extra,
            measured_ratio=math.exp(statistics.mean(ratios)),
            starts=len(ratios),
            caught=drawn[0] if drawn else None,
            gates=drawn[1] if drawn else 0,
        )

    def spreads(self) -> tuple[Spread, ...]:
        """Of each cell that is no control, from its starts on unchanged code."""
        cells = [each for each in self.gated if not each.control]
        found = ((each, self.bank.log_ratios(each.name)) for each in cells)
        return tuple(self._spread(each.name, ratios) for each, ratios in found if len(ratios) > 1)

    def _spread(self, name: str, ratios: Sequence[float]) -> Spread:
        sd = statistics.stdev(ratios)
        rules = self.rules
        return Spread(
            cell=name,
            starts=len(ratios),
            sd=sd,
            start_s=statistics.median(
                record.wall_s / len(record.log_ratios)
                for record in self.bank.records(name)
                if record.wall_s is not None
            ),
            detectable={
                str(count): smallest_detectable(
                    count,
                    sd,
                    margin=rules.margin,
                    power=rules.power,
                    screen_error=rules.screen_error,
                    family_error=rules.family_error,
                )
                for count in STARTS_ASKED
            },
        )
