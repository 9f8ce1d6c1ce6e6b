"""Scheduling on a made-up machine: known speeds come out exactly, and nobody runs in between."""

import math
from contextlib import suppress
from itertools import pairwise, product

import pytest

from benchmarks.engine.arm import ArmFault
from benchmarks.engine.experiment import (
    BASELINE,
    CANDIDATE,
    Plan,
    order_of,
    pairs_worth,
    schedule,
    steps_per_block,
    steps_to_drain,
)
from benchmarks.setting import Setting
from tests.benchmarks.made_up_arms import HANGS, Machine, Speed, Watcher

A, B = BASELINE, CANDIDATE


def machine(baseline: Speed | None = None, candidate: Speed | None = None) -> Machine:
    return Machine(speeds={BASELINE: baseline or Speed(), CANDIDATE: candidate or Speed()})


# The order of things


def test_pairs_alternate_who_goes_first() -> None:
    assert schedule(0, 4) == [(A, [0]), (B, [0, 1]), (A, [1, 2]), (B, [2, 3]), (A, [3])]
    assert schedule(1, 2) == [(B, [0]), (A, [0, 1]), (B, [1])]


@pytest.mark.parametrize(("start", "pairs"), [*product(range(4), range(1, 8))])
def test_each_pair_has_one_block_of_each_arm_and_runs_are_merged(start: int, pairs: int) -> None:
    runs = schedule(start, pairs)
    for arm in (A, B):
        assert [pair for name, run in runs if name == arm for pair in run] == list(range(pairs))
    names = [name for name, _ in runs]
    assert all(name != other for name, other in pairwise(names))
    assert names[0] == order_of(start)[0]


def test_launch_order_is_swapped_from_start_to_start() -> None:
    made = machine()
    made.experiment(starts=4).run()
    assert made.launched == [A, B, B, A, A, B, B, A]


def test_blocks_are_measured_in_the_order_of_the_schedule() -> None:
    made = machine()
    blocks = made.experiment(starts=2, pairs=4).run().blocks
    assert "".join("A" if block.arm == A else "B" for block in blocks) == "ABBAABBA" + "BAABBAAB"
    assert [block.pair for block in blocks] == [0, 0, 1, 1, 2, 2, 3, 3] * 2


# What comes out


@pytest.mark.parametrize("ratio", [0.7, 1.0, 1.0137, 2.0])
def test_a_known_speed_up_is_recovered_from_every_start(ratio: float) -> None:
    made = machine(candidate=Speed(step_s=0.05 / ratio))
    measurement = made.experiment(starts=3).run()
    assert measurement.log_ratios == pytest.approx([math.log(ratio)] * 3)
    assert measurement.stopped is None


def test_more_samples_a_step_count_as_throughput() -> None:
    made = machine()
    made.units_per_step[CANDIDATE] = 16
    assert made.experiment(starts=1).run().log_ratios == pytest.approx([math.log(2)])


@pytest.mark.parametrize("start_pairs", [2, 4])
def test_a_steady_drift_of_the_machine_cancels_within_a_start(start_pairs: int) -> None:
    made = machine(candidate=Speed(step_s=0.04))
    made.drift = lambda block: math.exp(0.1 * block)
    ratios = made.experiment(starts=2, pairs=start_pairs).run().log_ratios
    assert ratios == pytest.approx([math.log(1.25)] * 2)


def test_a_drift_that_single_pairs_see_is_opposite_in_the_next_start() -> None:
    made = machine()
    made.drift = lambda block: math.exp(0.1 * block)
    assert made.experiment(starts=2, pairs=1).run().log_ratios == pytest.approx([-0.1, 0.1])


def test_a_start_is_the_mean_over_its_pairs() -> None:
    made = machine()
    made.drift = lambda block: (1.0, 1.5, 1.0, 1.0)[block]  # one pair of two disturbed
    ratios = made.experiment(starts=1, pairs=2).run().log_ratios
    assert ratios == pytest.approx([-math.log(1.5) / 2])


def test_openings_tell_launch_first_step_and_warm_step_apart() -> None:
    made = machine(candidate=Speed(step_s=0.02, launch_s=2.0, cold_s=3.0))
    opening = made.experiment(starts=1).run().openings[CANDIDATE][0]
    assert (opening.launch_s, opening.cold_s, opening.step_s) == pytest.approx((5.0, 3.0, 0.02))


def test_evidence_is_read_from_each_arm_of_each_start() -> None:
    made = machine()
    made.evidence = {BASELINE: {"seen": "a"}, CANDIDATE: {"seen": "b"}}
    evidence = made.experiment(starts=2).run().evidence
    assert evidence == {BASELINE: [{"seen": "a"}] * 2, CANDIDATE: [{"seen": "b"}] * 2}


# How long a block is, and what comes before it


@pytest.mark.parametrize(
    ("step_s", "steps"), [(0.125, 4), (0.3, 2), (0.34, 2), (0.5, 1), (7.0, 1), (0.0011, 455)]
)
def test_a_block_has_the_steps_that_fill_its_time(step_s: float, steps: int) -> None:
    assert steps_per_block(step_s, block_s=0.5) == steps


def test_all_starts_measure_blocks_of_the_same_number_of_steps() -> None:
    made = machine()
    made.slowed = {(A, 1): 2.0, (B, 1): 2.0}
    blocks = made.experiment(starts=2).run().blocks
    assert {block.timed.steps for block in blocks} == {10}


def test_a_run_begins_with_what_the_loader_had_ready_or_one_step_to_wake_up() -> None:
    made = machine()
    made.settings[CANDIDATE] = Setting(num_workers=6, prefetch_factor=3)
    made.experiment(starts=1).run()
    drains = {arm.name: {drain for drain, _, _ in arm.runs} for arm in made.arms}
    assert drains == {BASELINE: {1}, CANDIDATE: {6}}


def test_a_long_step_needs_no_other_to_wake_up_but_still_drains() -> None:
    assert steps_to_drain(Setting(), step_s=2.0) == 0
    assert steps_to_drain(Setting(num_workers=4), step_s=2.0, can_pause=True) == 4


def test_a_loader_that_cannot_be_stopped_fills_up_and_is_drained_of_all_it_may_hold() -> None:
    assert steps_to_drain(Setting(num_workers=4), step_s=2.0, can_pause=False) == 8


def test_two_blocks_in_a_row_are_drained_for_once() -> None:
    made = machine()
    made.experiment(starts=1, pairs=4).run()
    assert [arm.runs for arm in made.arms] == [
        [(1, 10, 1), (1, 10, 2), (1, 10, 1)],
        [(2, 10, 2), (2, 10, 2)],
    ]


# Fewer pairs and starts


@pytest.mark.parametrize(
    ("pair_s", "pairs"),
    [(0.1, 4), (1.0, 4), (2.0, 4), (2.1, 2), (4.0, 2), (4.1, 1), (100.0, 1)],
)
def test_pairs_longer_than_twice_their_plan_are_fewer(pair_s: float, pairs: int) -> None:
    assert pairs_worth(Plan(pairs=4, block_s=0.5), pair_s) == pairs


@pytest.mark.parametrize("planned", [1, 2, 3, 5, 8])
def test_never_more_pairs_than_planned_and_never_none(planned: int) -> None:
    plan = Plan(pairs=planned, block_s=0.5)
    worth = [pairs_worth(plan, pair_s) for pair_s in (0.01, 1, 2, 3, 5, 8, 13, 1000)]
    assert worth == sorted(worth, reverse=True)
    assert worth[0] == planned
    assert worth[-1] == 1


def test_a_slow_candidate_is_measured_over_fewer_pairs() -> None:
    made = machine(candidate=Speed(step_s=3.0, cold_s=3.0))
    measurement = made.experiment(starts=1, pairs=4).run()
    assert {block.pair for block in measurement.blocks} == {0, 1}
    assert measurement.log_ratios == pytest.approx([math.log(0.05 / 3.0)])


def test_no_start_is_begun_that_does_not_fit_into_the_limit() -> None:
    made = machine()
    made.experiment(starts=1).run()
    one_start_s = made.now_s
    made = machine()
    measurement = made.experiment(starts=4, limit_s=2.5 * one_start_s).run()
    assert len(measurement.log_ratios) == 2
    assert made.now_s <= 2.5 * one_start_s
    assert measurement.stopped == f"2 of 4 starts fitted into {2.5 * one_start_s:.0f} s"


def test_the_first_start_is_measured_even_if_it_takes_longer_than_the_limit() -> None:
    made = machine()
    measurement = made.experiment(starts=4, limit_s=1.0).run()
    assert len(measurement.log_ratios) == 1
    assert measurement.stopped is not None


def test_half_as_fast_in_two_starts_is_enough() -> None:
    made = machine(candidate=Speed(step_s=0.105))
    measurement = made.experiment(starts=4).run()
    assert len(measurement.log_ratios) == 2
    assert measurement.stopped is not None
    assert measurement.stopped.startswith("less than half as fast in 2 starts")


@pytest.mark.parametrize("step_s", [0.095, 0.05, 0.01])
def test_a_candidate_that_is_no_worse_than_half_gets_all_its_starts(step_s: float) -> None:
    measurement = machine(candidate=Speed(step_s=step_s)).experiment(starts=4).run()
    assert len(measurement.log_ratios) == 4
    assert measurement.stopped is None


def test_half_as_fast_in_one_of_two_starts_is_not_enough() -> None:
    made = machine()
    made.slowed = {(B, 0): 3.0}
    measurement = made.experiment(starts=4).run()
    assert measurement.log_ratios == pytest.approx([-math.log(3), 0, 0, 0])


def test_half_as_fast_but_too_unsteady_to_call_slower_goes_on() -> None:
    """Two starts at 1/7 and 1/12 have an interval up to 2.9: stopped there, they read unclear."""
    made = machine()
    made.slowed = {(B, 0): 7.0, (B, 1): 12.0, (B, 2): 9.0}
    measurement = made.experiment(starts=4).run()
    assert len(measurement.log_ratios) == 3
    assert measurement.stopped is not None


def test_a_plan_of_two_starts_that_were_done_was_not_cut_short() -> None:
    assert machine(candidate=Speed(step_s=1.0)).experiment(starts=2).run().stopped is None


# Hopeless candidates


def test_a_first_step_that_never_ends_bounds_the_throughput() -> None:
    made = machine(candidate=Speed(cold_s=HANGS))
    measurement = made.experiment(first_step_s=20.0, limit_s=90.0).run()
    assert measurement.bound == pytest.approx(8 / 20)  # not one step of 8 samples in 20 s
    assert measurement.blocks == []
    assert measurement.stopped == "no first step within 20 s; the baseline's took 0.5 s"
    assert made.launched == [A, B]
    assert made.now_s < 90


@pytest.mark.parametrize(
    ("setting", "batches"),
    [
        (Setting(parallel="ddp4"), 4),
        (Setting(parallel="ddp4", batch=0.25), 1),  # the same global batch
        (Setting(parallel="pp2"), 1),  # stages work on the same samples
    ],
)
def test_the_bound_counts_the_samples_of_all_ranks(setting: Setting, batches: int) -> None:
    made = machine(candidate=Speed(cold_s=HANGS))
    made.settings[CANDIDATE] = setting
    assert made.experiment(first_step_s=20.0).run().bound == pytest.approx(batches * 8 / 20)


def test_data_parallel_says_nothing_of_its_batch_and_is_not_bounded() -> None:
    made = machine(candidate=Speed(cold_s=HANGS))
    made.settings[CANDIDATE] = Setting(parallel="dp")
    experiment = made.experiment()
    with pytest.raises(ArmFault):
        experiment.run()
    assert experiment.measurement.bound is None


def test_a_first_step_may_take_ten_times_the_baselines_launch() -> None:
    patient = machine(Speed(launch_s=2.0, cold_s=3.0), Speed(cold_s=49.0))
    assert patient.experiment(starts=1, first_step_s=20.0).run().bound is None
    limited = machine(Speed(launch_s=2.0, cold_s=3.0), Speed(cold_s=49.0))
    assert limited.experiment(starts=1, limit_s=40.0).run().bound == pytest.approx(8 / 40)


@pytest.mark.parametrize(
    "slow", [Speed(launch_s=HANGS), Speed(warm_up_s=HANGS)], ids=["launch", "warm-up"]
)
def test_hanging_before_or_after_the_first_step_says_nothing_of_the_speed(slow: Speed) -> None:
    experiment = machine(candidate=slow).experiment()
    with pytest.raises(ArmFault) as caught:
        experiment.run()
    assert caught.value.outcome == "timed_out"
    assert experiment.measurement.bound is None


def test_a_first_step_that_hangs_in_a_later_start_is_a_fault() -> None:
    made = machine()
    made.raises[CANDIDATE, "first_step", 1] = ArmFault("timed_out", "did not finish")
    experiment = made.experiment()
    with pytest.raises(ArmFault, match="did not finish"):
        experiment.run()
    assert experiment.measurement.bound is None
    assert len(experiment.measurement.log_ratios) == 1


# Discipline: MadeUpArm itself refuses two that run, and work while paused

VERBS = ("launch", "first_step", "warm", "pause", "resume", "run", "read_back", "leave", "close")


@pytest.mark.parametrize("wrong", [ArmFault("failed", "broke"), KeyboardInterrupt()], ids=repr)
@pytest.mark.parametrize(("name", "verb", "start"), [*product((A, B), VERBS, (0, 1))])
def test_every_arm_is_closed_whatever_goes_wrong(
    name: str, verb: str, start: int, wrong: BaseException
) -> None:
    made = machine()
    made.raises[name, verb, start] = wrong
    experiment = made.experiment(starts=2)
    with pytest.raises(type(wrong)):
        experiment.run()
    assert all(arm.state == "closed" for arm in made.arms)
    ratios = experiment.measurement.log_ratios
    assert ratios == pytest.approx([0.0] * len(ratios))
    assert len(ratios) >= start
    evidence = experiment.measurement.evidence
    assert len(evidence[BASELINE]) == len(evidence[CANDIDATE])


def test_arms_end_by_themselves_and_are_closed_after_each_start() -> None:
    made = machine()
    made.experiment(starts=3).run()
    assert {arm.state for arm in made.arms} == {"closed"}
    assert made.told.count((A, "leave")) == made.told.count((B, "leave")) == 3


def test_an_arm_is_paused_before_the_other_is_launched() -> None:
    made = machine()
    made.experiment(starts=1).run()
    assert made.told[:6] == [
        (A, "launch"),
        (A, "first_step"),
        (A, "warm"),
        (A, "pause"),
        (B, "launch"),
        (B, "first_step"),
    ]


# Faults


@pytest.mark.parametrize("verb", ["launch", "first_step", "warm", "pause", "run", "read_back"])
def test_a_fault_of_the_baseline_says_so(verb: str) -> None:
    made = machine()
    made.raises[BASELINE, verb, 0] = ArmFault("out_of_memory", "rank 0: too much", ["said this"])
    with pytest.raises(ArmFault) as caught:
        made.experiment().run()
    fault = caught.value
    assert (fault.outcome, fault.reason) == ("out_of_memory", "baseline: rank 0: too much")
    assert fault.log == ["said this"]


@pytest.mark.parametrize("verb", ["launch", "first_step", "warm", "pause", "run", "read_back"])
def test_a_fault_of_the_candidate_is_the_cells_own(verb: str) -> None:
    made = machine()
    made.raises[CANDIDATE, verb, 0] = ArmFault("failed", "rank 1: broke")
    with pytest.raises(ArmFault) as caught:
        made.experiment().run()
    assert caught.value.reason == "rank 1: broke"


def test_what_was_measured_before_a_fault_stays() -> None:
    made = machine(candidate=Speed(step_s=0.025))
    made.raises[CANDIDATE, "run", 2] = ArmFault("failed", "killed")
    experiment = made.experiment(starts=4)
    with pytest.raises(ArmFault):
        experiment.run()
    measurement = experiment.measurement
    assert measurement.log_ratios == pytest.approx([math.log(2)] * 2)
    assert {block.start for block in measurement.blocks} == {0, 1}  # of the third: nothing
    assert len(measurement.openings[CANDIDATE]) == 3
    assert len(measurement.evidence[BASELINE]) == 2


# What telemetry is told


def test_the_observer_learns_who_runs_and_for_how_many_samples() -> None:
    made, watcher = machine(), Watcher()
    made.experiment(watcher, starts=1, pairs=4).run()
    assert watcher.pids == [(A, 1000), (B, 1001)]
    # 8 samples a step; 10 steps a block, after 1 or, with two loader workers, 2 to drain
    assert watcher.turns == [
        (A, 8 * (1 + 10)),
        (B, 8 * (2 + 20)),
        (A, 8 * (1 + 20)),
        (B, 8 * (2 + 20)),
        (A, 8 * (1 + 10)),
    ]


def test_a_first_step_that_does_nothing_hangs_and_bounds_no_throughput() -> None:
    made = Machine(speeds={BASELINE: Speed(), CANDIDATE: Speed(cold_s=HANGS)})
    made.busy_s[CANDIDATE] = 0.5
    experiment = made.experiment(first_step_s=20.0)
    with pytest.raises(ArmFault, match="not within"):
        experiment.run()
    assert experiment.measurement.bound is None


@pytest.mark.parametrize("part", ["launch_s", "cold_s", "warm_up_s"])
def test_a_cell_ends_soon_after_its_limit_wherever_it_hangs(part: str) -> None:
    slow = Speed(cold_s=19.0)
    setattr(slow, part, HANGS)
    made = Machine(speeds={BASELINE: Speed(cold_s=1.0), CANDIDATE: slow})
    with suppress(ArmFault):
        made.experiment(limit_s=40.0, first_step_s=30.0).run()
    assert made.now_s <= 1.25 * 40.0 + 2.0
