"""How much of a cell is measured: its plan, from the usual one, its techniques and the budget."""

from dataclasses import replace
from typing import Any

import pytest

from benchmarks.cell import Cell
from benchmarks.engine.experiment import CPU_PLAN
from benchmarks.engine.time_to_target import GOAL, STARTS
from benchmarks.measuring import given_to_both, plan_of
from benchmarks.setting import Setting
from benchmarks.techniques.allocators import HUGE, STEADY, STEADY_MALLOC
from benchmarks.techniques.compile import COMPILE, FIRST_STEP_S
from benchmarks.techniques.layout import CHANNELS_LAST
from benchmarks.techniques.technique import Technique

AMPLE_S = float("inf")


def cell(*axes: Technique, **changes: Any) -> Cell:
    return replace(Cell("gpt2", axes, baseline=Setting(), device="cpu"), **changes)


def test_a_usual_cell_has_the_usual_plan() -> None:
    assert plan_of(cell(CHANNELS_LAST), CPU_PLAN, AMPLE_S) == CPU_PLAN
    assert plan_of(cell(CHANNELS_LAST), CPU_PLAN, AMPLE_S, starts=2).starts == 2


def test_compiling_comes_on_top_of_a_cells_time_and_costs_no_starts() -> None:
    """A first step of a minute left room for one start of five: an answer without an interval."""
    plan = plan_of(cell(COMPILE), CPU_PLAN, AMPLE_S)
    assert plan.first_step_s == FIRST_STEP_S
    assert plan.limit_s == pytest.approx(CPU_PLAN.limit_s + FIRST_STEP_S - CPU_PLAN.first_step_s)
    assert plan.starts == CPU_PLAN.starts
    on_top = cell(CHANNELS_LAST, on=(COMPILE,))
    assert plan_of(on_top, CPU_PLAN, AMPLE_S) == plan


def test_the_budget_ends_a_cell_whatever_it_compiles() -> None:
    assert plan_of(cell(COMPILE), CPU_PLAN, 40.0).limit_s == 40.0


def test_a_training_to_a_target_starts_seldom_unless_told() -> None:
    assert plan_of(cell(CHANNELS_LAST, goal=GOAL), CPU_PLAN, AMPLE_S).starts == STARTS
    assert plan_of(cell(CHANNELS_LAST, goal=GOAL), CPU_PLAN, AMPLE_S, starts=9).starts == 9


def test_variables_that_every_arm_has_make_no_cell_of_their_own() -> None:
    assert given_to_both(cell(STEADY), STEADY_MALLOC)
    assert not given_to_both(cell(STEADY), ())


def test_what_stands_on_variables_is_measured_all_the_same() -> None:
    """The recipe skipped everything that it tried on top of steady_malloc."""
    on_steady: dict[str, Any] = {"baseline": STEADY.apply(Setting()), "on": (STEADY,)}
    for technique in (CHANNELS_LAST, HUGE):
        for usual in ((), STEADY_MALLOC):
            assert not given_to_both(cell(technique, **on_steady), usual)
