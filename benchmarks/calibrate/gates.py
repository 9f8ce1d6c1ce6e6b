"""Gates whose right answer is known, and the bank of starts that they leave behind. No clock here.

Two ways to run a gate, both through `regress.gate.run_gate`:

- on unchanged code, live: every gate measures starts of its own, so the false alarms are counted
  over independent gates and may have a Wilson interval;
- with a slowdown in one cell: drawn at random from the bank, since fresh starts for each of many
  gates would take hours. No gate uses a start twice, but the gates share them: the counted share
  says how often a gate catches it, and its own uncertainty is that of the few starts behind it.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from benchmarks.regress.gate import Gated, run_gate
from results.gate import Result, Rules
from results.record import Record

DRAWN_GATES = 200
SEED = 0


class Bank:
    """What was measured of each gated cell, by name and by share of extra work (0: unchanged)."""

    def __init__(self) -> None:
        self._records: dict[tuple[str, float], list[Record]] = {}

    def put(self, name: str, extra: float, record: Record) -> None:
        """Keep a record's starts; one without any is not kept."""
        if record.log_ratios:
            self._records.setdefault((name, extra), []).append(record)

    def records(self, name: str, extra: float = 0.0) -> Sequence[Record]:
        return self._records.get((name, extra), [])

    def log_ratios(self, name: str, extra: float = 0.0) -> list[float]:
        """Of all starts, in the order they were measured."""
        return [ratio for record in self.records(name, extra) for ratio in record.log_ratios]


def caught(result: Result, name: str) -> bool:
    """Whether the gate said "regression", and of the cell that has one."""
    guilty = {each.cell for each in result.findings if each.verdict == "regressed"}
    return result.outcome == "regression" and name in guilty


def drawn_gates(
    gated: Sequence[Gated],
    slow: Gated,
    bank: Bank,
    extra: float,
    rules: Rules,
    *,
    starts: int,
    gates: int = DRAWN_GATES,
) -> tuple[int, int] | None:
    """In how many gates out of how many the slowdown of the cell `slow` was caught.

    `starts` of each cell screen, `rules.confirm_starts` confirm. None where the bank has too few
    starts of a cell for one gate.
    """
    again = rules.confirm_starts or starts
    pools = {each.name: bank.log_ratios(each.name, extra * (each is slow)) for each in gated}
    if min(map(len, pools.values())) < starts + again:
        return None
    templates = {each.name: bank.records(each.name, extra * (each is slow))[0] for each in gated}
    chance = random.Random(SEED)
    hits = 0
    for _ in range(gates):
        hands = {name: chance.sample(pool, starts + again) for name, pool in pools.items()}
        hits += caught(run_gate(gated, _dealt(hands, templates, starts), rules), slow.name)
    return hits, gates


def _dealt(
    hands: Mapping[str, Sequence[float]], templates: Mapping[str, Record], starts: int
) -> Callable[[Gated, int], Record]:
    """What `run_gate` measures with: the first `starts` of a hand screen, the others confirm."""

    def measure(each: Gated, stage: int) -> Record:
        hand = hands[each.name]
        ratios = list(hand[starts:] if stage else hand[:starts])
        return replace(templates[each.name], cell=each.name, log_ratios=ratios, starts=len(ratios))

    return measure
