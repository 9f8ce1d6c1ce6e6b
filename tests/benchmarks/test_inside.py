"""The look inside: what an arm is asked for, and what of its answers the record keeps."""

from pathlib import Path
from typing import Any, cast

import pytest

from benchmarks.engine.arm import Arm
from benchmarks.inside import attribute, nsys_command, profile_by_nsys, profile_by_torch
from results.record import Record
from tests.benchmarks.machines import hardware
from tests.results.examples import compared

BREAKDOWN = {
    "data_s": 0.06,
    "copy_s": 0.0,
    "forward_s": 0.01,
    "backward_s": 0.02,
    "optimizer_s": 0.01,
    "communication_s": 0.0,
    "other_s": 0.0,
    "step_s": 0.1,
    "steps": 10,
    "loader_samples_per_s": 100.0,
    "compute_samples_per_s": 400.0,
}


class AskedArm:
    """Answers as an arm does, and notes down what it was asked."""

    def __init__(self, per_step: float | None = 1e9, reason: str | None = None) -> None:
        self.asked: list[str] = []
        self.answers: dict[str, dict[str, Any]] = {
            "break_down": {"breakdown": dict(BREAKDOWN)},
            "count_flops": {"per_step": per_step, "reason": reason, "devices": 1},
            "multiply": {"flops_per_s": 2e11},
            "profile": {"top": [{"name": "aten::mm", "calls": 4, "self_s": 0.1}]},
            "profile_nsys": {},
        }

    def first_step(self, timeout_s: float) -> dict[str, Any]:
        self.asked.append("first_step")
        return {}

    def warm(self, timeout_s: float) -> float:
        self.asked.append("warm")
        return 0.1

    def look(self, order: dict[str, Any], timeout_s: float) -> dict[str, Any]:
        self.asked.append(order["do"])
        return self.answers[order["do"]]

    def leave(self) -> None:
        self.asked.append("leave")


def anything_goes(technique: str) -> bool:
    return True


def looked(arm: AskedArm, record: Record) -> Record:
    return attribute(cast(Arm, arm), record, hardware(), anything_goes)


def test_the_record_keeps_the_breakdown_and_says_what_binds() -> None:
    record = looked(AskedArm(), compared("workers2", [1.0, 1.0]))
    assert record.attribution is not None
    assert record.attribution["data_s"] == BREAKDOWN["data_s"]
    assert record.flops_per_step == 1e9
    assert record.diagnosis is not None
    assert "data loading" in record.diagnosis


def test_a_device_without_a_known_peak_gets_a_measured_ceiling_and_no_mfu() -> None:
    arm = AskedArm()
    record = looked(arm, compared("workers2", [1.0, 1.0]))
    assert "multiply" in arm.asked
    assert record.mfu is None
    assert record.attribution is not None
    share = 1e9 / 0.1 / 2e11  # FLOPs of a step, seconds of one in the look, FLOP/s of the matmul
    assert record.attribution["of_matmul_ceiling"] == pytest.approx(share)


def test_without_a_count_of_flops_its_reason_is_kept_and_nothing_is_multiplied() -> None:
    arm = AskedArm(per_step=None, reason="torch does not count lstm")
    record = looked(arm, compared("workers2", [1.0, 1.0]))
    assert "multiply" not in arm.asked
    assert record.flops_per_step is None
    assert record.attribution is not None
    assert record.attribution["flops_reason"] == "torch does not count lstm"


def test_a_diagnosis_names_no_technique_that_is_not_offered() -> None:
    arm = cast(Arm, AskedArm())
    record = attribute(arm, compared("workers2", [1.0, 1.0]), hardware(), lambda name: False)
    assert record.diagnosis is not None
    assert "try workers" not in record.diagnosis


def test_a_profile_leaves_its_trace_and_the_top_operators_in_the_record(tmp_path: Path) -> None:
    arm = AskedArm()
    trace = tmp_path / "cell.trace.json"
    record = profile_by_torch(cast(Arm, arm), compared("workers2", [1.0, 1.0]), trace)
    assert record.profile is not None
    assert record.profile["trace"] == "cell.trace.json"
    assert record.profile["top"][0]["name"] == "aten::mm"
    assert arm.asked == ["first_step", "warm", "profile"]


def test_nsys_records_only_the_capture_range_and_writes_when_the_arm_has_left(
    tmp_path: Path,
) -> None:
    report = tmp_path / "cell.nsys-rep"
    command = nsys_command(report)
    assert command[:2] == ("nsys", "profile")
    assert "--capture-range=cudaProfilerApi" in command
    arm = AskedArm()
    record = profile_by_nsys(cast(Arm, arm), compared("workers2", [1.0, 1.0]), report)
    assert arm.asked == ["first_step", "warm", "profile_nsys", "leave"]
    assert record.profile is not None
    assert record.profile["report"] == "cell.nsys-rep"
