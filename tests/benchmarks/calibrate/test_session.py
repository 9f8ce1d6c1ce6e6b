"""A calibration of made-up machines whose noise is known: what it counts, and when it ends."""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from benchmarks.calibrate.gates import Bank, caught, drawn_gates
from benchmarks.calibrate.session import EXTRA_WORK, SLOWED_STARTS, Session
from benchmarks.cell import Cell
from benchmarks.guards import PLAIN
from benchmarks.regress.gate import Gated, run_gate, with_controls
from benchmarks.setting import Setting
from results.gate import Rules
from results.record import Record
from tests.results.examples import compared

CELLS = [Cell(name, PLAIN, Setting(), "cpu") for name in ("resnet18", "gpt2")]
GATED = with_controls(CELLS)
SLOW = GATED[-1]
STARTS = 4
RULES = Rules(confirm_starts=8)
START_S = 3.0


@dataclass
class Machine:
    """Starts with normal noise; `bias` is what the new environment loses without a reason."""

    sd: float
    bias: float = 0.0
    now: float = 0.0
    rounds: list[int] = field(default_factory=list)
    measured: list[tuple[str, int, float]] = field(default_factory=list)
    chance: random.Random = field(default_factory=lambda: random.Random(3))

    def measure(self, each: Gated, starts: int | None, extra: float) -> Record:
        count = starts or STARTS
        self.now += START_S * count
        self.measured.append((each.name, count, extra))
        truth = 0.0 if each.control else math.log1p(-self.bias) - math.log1p(extra)
        ratios = [math.exp(self.chance.gauss(truth, self.sd)) for _ in range(count)]
        return compared("control", ratios, cell=each.name, wall_s=START_S * count)

    def calibrate(self, gates: int, budget_s: float = math.inf) -> Session:
        session = Session(GATED, SLOW, RULES, STARTS, drawn_gates=30)
        session.run(
            self.measure,
            self.rounds.append,
            gates=gates,
            budget_s=budget_s,
            clock=lambda: self.now,
        )
        return session


def test_a_quiet_machine_raises_no_alarm_and_catches_what_lies_beyond_the_margin() -> None:
    session = Machine(sd=0.004).calibrate(gates=24)
    assert session.outcomes == ["no regression"] * 24
    found = {each.extra_work: each for each in session.detections()}
    assert found[0.10].share == 1.0
    assert found[0.05].share is not None
    assert found[0.05].share > 0.9
    assert found[0.03].share is not None
    assert found[0.03].share < 0.1


def test_a_loud_machine_is_honest_about_what_it_misses() -> None:
    loud = Machine(sd=0.08).calibrate(gates=24)
    [five] = [each for each in loud.detections() if each.extra_work == 0.05]
    assert five.share is not None
    assert five.share < 0.3
    quiet = Machine(sd=0.004).calibrate(gates=24)
    for ours, theirs in zip(loud.spreads(), quiet.spreads(), strict=True):
        assert ours.sd == pytest.approx(0.08, rel=0.3)
        sixteen, calm = ours.detectable["16"], theirs.detectable["16"]
        assert sixteen is not None
        assert calm is not None
        assert sixteen > calm


def test_an_environment_that_is_slower_without_a_reason_shows_as_false_alarms() -> None:
    session = Machine(sd=0.004, bias=0.08).calibrate(gates=6)
    assert session.outcomes == ["regression"] * 6


def test_every_round_starts_afresh_and_every_gate_measures_its_own_starts() -> None:
    machine = Machine(sd=0.004)
    session = machine.calibrate(gates=6)
    assert machine.rounds == [0, 1, 2, 3, 4, 5]
    unchanged = [(name, count) for name, count, extra in machine.measured if not extra]
    for each in GATED:
        assert len(session.bank.log_ratios(each.name)) == sum(
            count for name, count in unchanged if name == each.name
        )
    slowed = [extra for _, count, extra in machine.measured if extra and count == SLOWED_STARTS]
    assert slowed == [*EXTRA_WORK, *EXTRA_WORK]


def test_no_round_begins_that_would_end_after_the_budget() -> None:
    machine = Machine(sd=0.004)
    round_s = START_S * (STARTS * len(GATED) + SLOWED_STARTS)
    session = machine.calibrate(gates=30, budget_s=3.5 * round_s)
    assert len(session.outcomes) == 3
    assert machine.now <= 3.5 * round_s


def test_more_starts_show_smaller_slowdowns() -> None:
    for spread in Machine(sd=0.02).calibrate(gates=4).spreads():
        found = [spread.detectable[count] for count in ("2", "4", "8", "16")]
        known = [each for each in found if each is not None]
        assert known == sorted(known, reverse=True)
        assert len(known) >= 3
        assert spread.start_s == START_S


def test_too_few_starts_to_draw_a_gate_are_said_and_not_guessed() -> None:
    session = Machine(sd=0.004).calibrate(gates=3)
    assert [each.caught for each in session.detections()] == [None] * len(EXTRA_WORK)
    assert [each.starts for each in session.detections()] == [SLOWED_STARTS] * len(EXTRA_WORK)


def banked(slow: Sequence[float], starts: int = 12) -> Bank:
    bank = Bank()
    for each in GATED:
        bank.put(each.name, 0.0, compared("control", [1.0, 1.001] * (starts // 2), cell=each.name))
    bank.put(SLOW.name, 0.05, compared("control", list(slow), cell=SLOW.name))
    return bank


def test_a_drawn_gate_uses_no_start_twice() -> None:
    """Eleven slow starts and a fast one: all twelve are dealt, so each gate sees the fast one."""
    steady = drawn_gates(GATED, SLOW, banked([0.9, 0.901] * 6), 0.05, RULES, starts=4, gates=20)
    assert steady == (20, 20)
    one_less = drawn_gates(GATED, SLOW, banked([0.9] * 11), 0.05, RULES, starts=4, gates=20)
    assert one_less is None


def test_only_the_slowed_cell_counts_as_caught() -> None:
    other = GATED[-2]

    def measure(each: Gated, stage: int) -> Record:
        factor = 0.8 if each is other else 1.0
        return compared("control", [factor, factor * 1.001] * 4, cell=each.name)

    result = run_gate(GATED, measure, RULES)
    assert caught(result, other.name)
    assert not caught(result, SLOW.name)
