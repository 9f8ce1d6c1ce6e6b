"""From measurements of a made-up machine to records whose figures are known beforehand."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from benchmarks.assemble import Context, assemble, scales, unmeasured
from benchmarks.cell import Cell
from benchmarks.engine.arm import ArmFault
from benchmarks.engine.experiment import BASELINE, CANDIDATE
from benchmarks.setting import Setting
from benchmarks.techniques import AMP_BF16, DP, FP32, SINGLE, ddp, workers
from benchmarks.techniques.parallel import MP, pp, strong, zero
from results.record import Record
from tests.benchmarks.made_up_arms import HANGS, Machine, Speed
from tests.benchmarks.test_guards import evidence, shared_by

WORKERS2 = Cell("resnet18", (workers(2), FP32, SINGLE), baseline=Setting(), device="cpu")
CONTEXT = Context("test_matrix[resnet18-cpu-workers2]", WORKERS2, "tiny", "images")
NOTHING: dict[str, dict[str, Any]] = {BASELINE: {}, CANDIDATE: {}}
UNKNOWN_MEMORY = {"peak_memory_bytes": None, "peak_reserved_bytes": None}


def machine(candidate: Speed | None = None, **seen: Any) -> Machine:
    """Of WORKERS2, with evidence that all is well but for what is `seen` of the candidate."""
    return Machine(
        speeds={BASELINE: Speed(), CANDIDATE: candidate or Speed()},
        evidence={
            BASELINE: evidence(**UNKNOWN_MEMORY),
            CANDIDATE: evidence(**{"loader_workers": 2, **UNKNOWN_MEMORY} | seen),
        },
    )


def record_of(
    made: Machine,
    context: Context = CONTEXT,
    telemetry: Mapping[str, Mapping[str, Any]] = NOTHING,
    **plan: Any,
) -> Record:
    """The record of an experiment on `made`; always good for a line of JSON."""
    experiment = made.experiment(**plan)
    fault = None
    try:
        experiment.run()
    except ArmFault as caught:
        fault = caught
    record = assemble(
        context, experiment.measurement, telemetry, ["a note"], wall_s=made.now_s, fault=fault
    )
    assert Record.from_json(record.to_json()) == record
    return record


def test_a_cell_that_was_not_tried_says_why_and_what_it_was() -> None:
    record = unmeasured(CONTEXT, "skipped", "dp needs 2 GPUs, found 0")
    assert (record.outcome, record.reason) == ("skipped", "dp needs 2 GPUs, found 0")
    assert (record.workload, record.scale, record.unit) == ("resnet18", "tiny", "images")
    assert record.technique == "workers2"
    assert Setting.from_dict(record.setting) == WORKERS2.setting
    assert Setting.from_dict(record.baseline) == Setting()
    assert record.speedup is None
    assert record.wall_s is None


def test_throughput_speed_up_and_step_times_are_those_of_the_machine() -> None:
    record = record_of(machine(Speed(step_s=0.025)), starts=4)
    assert record.outcome == "ok"
    assert record.baseline_samples_per_s == pytest.approx(8 / 0.05)
    assert record.samples_per_s == pytest.approx(8 / 0.025)
    assert record.speedup == pytest.approx(2)
    assert (record.speedup_low, record.speedup_high) == pytest.approx((2, 2))
    assert record.verdict == "faster"
    assert record.log_ratios == pytest.approx([math.log(2)] * 4)
    assert record.step_s is not None
    assert record.step_s["median"] == pytest.approx(0.025)
    assert record.baseline_step_s is not None
    assert record.baseline_step_s["p99"] == pytest.approx(0.05)
    assert (record.starts, record.pairs, record.batch, record.world_size) == (4, 16, 8, 1)


def test_raw_blocks_hold_what_the_figures_were_made_from() -> None:
    record = record_of(machine(Speed(step_s=0.025)), starts=2)
    assert record.timed_s == pytest.approx(sum(block["seconds"] for block in record.blocks))
    assert record.timed_s is not None
    assert record.wall_s is not None
    assert record.timed_s < record.wall_s
    ours = [block for block in record.blocks if block["arm"] == CANDIDATE]
    samples = sum(block["samples"] for block in ours)
    seconds = sum(block["seconds"] for block in ours)
    assert samples / seconds == pytest.approx(record.samples_per_s)
    assert {block["start"] for block in ours} == {0, 1}


def test_a_control_reads_one() -> None:
    control = replace(CONTEXT, cell=Cell("resnet18", (workers(0), FP32, SINGLE), Setting(), "cpu"))
    record = record_of(machine(loader_workers=0), control)
    assert record.technique == "control"
    assert record.speedup == pytest.approx(1)
    assert record.verdict == "same"


# What starting costs


def test_launch_and_first_step_are_medians_over_the_starts() -> None:
    record = record_of(machine(Speed(launch_s=2.0, cold_s=3.0)), starts=3)
    assert record.cold_s == pytest.approx(3.0)
    assert record.baseline_cold_s == pytest.approx(0.5)
    assert record.launch_s == pytest.approx(5.0)


def test_what_the_loader_cost_at_its_start_is_told_where_it_is_known() -> None:
    record = record_of(machine(loader_start_s=0.1, first_batch_s=0.3), starts=3)
    assert (record.loader_start_s, record.first_batch_s) == (0.1, 0.3)
    assert record_of(machine(), starts=3).loader_start_s is None


def test_what_an_epochs_first_batch_costs_either_arm_is_a_note() -> None:
    made = machine(epoch_start_s=0.25)
    assert record_of(made, starts=1).notes == ["a note"]
    made.evidence[BASELINE]["epoch_start_s"] = 0.5
    assert record_of(made, starts=1).notes == [
        "a note",
        "an epoch's first batch came after 0.25 s, the baseline's after 0.5 s",
    ]


def test_break_even_is_where_two_trainings_have_taken_the_same_time() -> None:
    record = record_of(machine(Speed(step_s=0.025, cold_s=3.0)))
    steps = record.break_even_steps
    assert steps is not None
    assert 3.0 + steps * 0.025 == pytest.approx(0.5 + steps * 0.05)


def test_break_even_counts_the_candidates_own_larger_steps() -> None:
    made = machine(Speed(step_s=0.05, cold_s=3.0))
    made.units_per_step[CANDIDATE] = 16
    steps = record_of(made).break_even_steps
    assert steps is not None
    assert 3.0 + steps * 0.05 == pytest.approx(
        0.5 + 2 * steps * 0.05
    )  # twice the steps for as much


@pytest.mark.parametrize("step_s", [0.05, 0.06])
def test_what_is_not_faster_never_pays(step_s: float) -> None:
    assert record_of(machine(Speed(step_s=step_s, cold_s=3.0))).break_even_steps is None


def test_a_faster_first_step_pays_at_once() -> None:
    assert record_of(machine(Speed(step_s=0.025, cold_s=0.1))).break_even_steps == 0


# Scaling


@pytest.mark.parametrize("strategy", [ddp(4), DP], ids=["ddp4", "dp"])
def test_four_devices_at_three_times_the_throughput_scale_to_three_quarters(strategy: Any) -> None:
    cell = Cell("resnet18", (workers(0), FP32, strategy), Setting(device="cuda"), "cuda")
    made = machine(
        Speed(step_s=0.05 * 4 / 3),
        loader_workers=0,
        replicas=4,
        visible_devices=4,
        **shared_by(4 if strategy.name == "ddp4" else 1),
        strategy="DistributedDataParallel" if strategy.name == "ddp4" else "DataParallel",
    )
    made.settings[CANDIDATE] = cell.setting
    made.units_per_step[CANDIDATE] = 4 * 8
    record = record_of(made, replace(CONTEXT, cell=cell))
    assert record.outcome == "ok"
    assert record.speedup == pytest.approx(3)
    assert record.scaling_efficiency == pytest.approx(0.75)


@pytest.mark.parametrize("technique", [strong(2), pp(2), MP, zero(2)], ids=lambda t: t.name)
def test_only_what_shares_out_the_batch_scales(technique: Any) -> None:
    cell = Cell("resnet18", (technique,), Setting(), "cpu")
    on_ddp = replace(cell, baseline=Setting(parallel="ddp2"))
    assert scales(cell) == (technique.name in ("ddp2_strong", "zero2"))
    assert not scales(on_ddp)


def test_at_the_same_global_batch_twice_the_devices_count_as_two() -> None:
    cell = Cell("resnet18", (strong(2),), Setting(), "cpu")
    made = machine(
        Speed(step_s=0.05 / 1.5),
        loader_workers=0,
        replicas=2,
        **shared_by(2, "gloo"),
        strategy="DistributedDataParallel",
        step_samples=4,
        scale_batch=8,
    )
    made.settings[CANDIDATE] = cell.setting
    made.batch[CANDIDATE] = 4
    record = record_of(made, replace(CONTEXT, cell=cell))
    assert record.speedup == pytest.approx(1.5)
    assert record.scaling_efficiency == pytest.approx(0.75)


@pytest.mark.parametrize("axes", [(workers(2), FP32, SINGLE), (workers(2), FP32, ddp(2))])
def test_with_another_change_beside_it_there_is_no_scaling_efficiency(axes: Any) -> None:
    made = machine(
        strategy="none" if axes[2] is SINGLE else "DistributedDataParallel",
        replicas=axes[2].apply(Setting()).world_size,
        **shared_by(axes[2].apply(Setting()).world_size, "gloo"),
    )
    record = record_of(made, replace(CONTEXT, cell=Cell("resnet18", axes, Setting(), "cpu")))
    assert record.outcome == "ok"
    assert record.scaling_efficiency is None


# What went wrong


def test_a_broken_guard_makes_the_cell_invalid_and_takes_its_verdict() -> None:
    record = record_of(machine(Speed(step_s=0.025), loader_workers=0))
    assert record.outcome == "invalid"
    assert record.reason == "loader_workers: 0 of 2 loader workers alive"
    assert record.verdict is None
    assert record.speedup == pytest.approx(2)  # seen all the same
    assert [guard["name"] for guard in record.guards if not guard["ok"]] == ["loader_workers"]


def test_losses_that_are_not_finite_are_left_out_of_the_record_and_make_it_invalid() -> None:
    record = record_of(machine(losses=[2.5, math.nan, math.inf]))
    assert record.outcome == "invalid"
    assert record.losses == [2.5]


def test_a_fault_keeps_what_was_measured_before_it_but_has_no_verdict() -> None:
    made = machine(Speed(step_s=0.025))
    made.raises[CANDIDATE, "run", 2] = ArmFault("out_of_memory", "rank 0: too much", ["log", "end"])
    record = record_of(made)
    assert (record.outcome, record.reason) == ("out_of_memory", "rank 0: too much")
    assert record.log == ["log", "end"]
    assert record.starts == 2
    assert record.speedup == pytest.approx(2)
    assert record.verdict is None
    assert record.losses


@pytest.mark.parametrize("arm", [BASELINE, CANDIDATE])
@pytest.mark.parametrize("verb", ["launch", "first_step", "warm", "run", "read_back", "leave"])
@pytest.mark.parametrize("start", [0, 1])
def test_a_fault_at_any_time_leaves_a_record(arm: str, verb: str, start: int) -> None:
    made = machine()
    made.raises[arm, verb, start] = ArmFault("failed", "broke")
    record = record_of(made)
    assert record.outcome == "failed"
    assert record.reason == ("broke" if arm == CANDIDATE else "baseline: broke")


def test_a_first_step_that_never_ended_is_slower_by_at_least_what_was_waited() -> None:
    record = record_of(machine(Speed(cold_s=HANGS)), first_step_s=20.0)
    assert record.outcome == "timed_out"
    assert record.verdict == "slower"
    assert record.speedup is None
    assert record.speedup_high == pytest.approx(0.05 / 20)
    assert record.reason is not None
    assert record.reason.startswith("no first step within 20 s")
    assert record.blocks == []


def test_one_start_within_the_limit_is_an_answer_only_where_it_is_clear() -> None:
    slow = record_of(machine(Speed(step_s=1.0)), limit_s=5.0)
    assert (slow.outcome, slow.verdict, slow.starts) == ("timed_out", "slower", 1)
    assert slow.speedup == pytest.approx(0.05)
    near = record_of(machine(Speed(step_s=0.06)), limit_s=5.0)
    assert (near.outcome, near.verdict) == ("timed_out", "unclear")


def test_fewer_starts_than_planned_are_noted_where_they_are_enough() -> None:
    record = record_of(machine(Speed(step_s=0.2)), starts=4)
    assert (record.outcome, record.verdict) == ("ok", "slower")
    assert record.notes[0] == "a note"
    assert record.notes[1].startswith("less than half as fast in 2 starts")


def test_a_single_start_that_was_asked_for_is_ok_and_unclear() -> None:
    record = record_of(machine(Speed(step_s=0.025)), starts=1)
    assert (record.outcome, record.verdict, record.speedup_low) == ("ok", "unclear", None)


# Telemetry and evidence


def test_telemetry_goes_to_the_arm_it_was_seen_of() -> None:
    telemetry: dict[str, dict[str, Any]] = {
        BASELINE: {"cpu_utilization_pct": 190.0, "resident_bytes": 100, "extra": 1},
        CANDIDATE: {"cpu_utilization_pct": 95.0, "resident_bytes": 300, "gpu_power_w": None},
    }
    record = record_of(machine(), telemetry=telemetry)
    assert record.cpu_utilization_pct == 95.0
    assert record.baseline_cpu_utilization_pct == 190.0
    assert record.resident_bytes == 300
    assert record.gpu_power_w is None
    assert record.telemetry[BASELINE]["extra"] == 1


def test_peak_memory_is_torchs_own_where_it_has_an_allocator_to_ask() -> None:
    telemetry = {BASELINE: {"resident_bytes": 100}, CANDIDATE: {"resident_bytes": 300}}
    on_gpu = machine(peak_memory_bytes=70, peak_reserved_bytes=90)
    record = record_of(on_gpu, telemetry=telemetry)
    assert (record.peak_memory_bytes, record.peak_reserved_bytes) == (70, 90)
    assert record.baseline_peak_memory_bytes is None  # resident memory is another figure


def test_the_unit_is_what_the_arm_says() -> None:
    record = record_of(machine(), replace(CONTEXT, unit="samples"))
    assert record.unit == "images"


def test_the_candidate_that_failed_at_once_still_tells_its_baselines_opening() -> None:
    made = machine()
    made.raises[CANDIDATE, "launch", 0] = ArmFault("failed", "broke")
    record = record_of(made)
    assert record.baseline_cold_s == pytest.approx(0.5)
    assert record.cold_s is None


def test_a_change_of_precision_is_named_in_the_record() -> None:
    cell = Cell("resnet18", (workers(0), AMP_BF16, SINGLE), Setting(), "cpu")
    record = record_of(
        machine(loader_workers=0, compute_dtype="bfloat16"), replace(CONTEXT, cell=cell)
    )
    assert record.outcome == "ok"
    assert record.technique == "amp_bf16"
