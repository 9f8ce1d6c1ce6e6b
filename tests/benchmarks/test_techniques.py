"""What each technique changes, what it needs, and which evidence convinces it."""

from dataclasses import asdict
from typing import Any

import pytest

from benchmarks.hardware import Hardware
from benchmarks.setting import Setting
from benchmarks.techniques import (
    AMP_BF16,
    AMP_FP16,
    DP,
    FP32,
    SINGLE,
    Technique,
    ddp,
    device_needs,
    workers,
)
from tests.benchmarks.machines import hardware

EVERY = (workers(0), workers(4), FP32, AMP_BF16, AMP_FP16, SINGLE, DP, ddp(2))
CUDA = Setting(device="cuda")


def need(technique: Technique, machine: Hardware, setting: Setting) -> str | None:
    """Why `machine` cannot run the technique applied to `setting`."""
    return technique.needs(machine, technique.apply(setting))


def holds(technique: Technique, name: str, setting: Setting, **evidence: Any) -> bool:
    """Whether the check called `name` is convinced."""
    finding = technique.checks[name](setting, evidence)
    assert finding
    return finding[0]


@pytest.mark.parametrize("technique", EVERY, ids=lambda technique: technique.name)
def test_a_technique_changes_its_own_knob_only_and_can_prove_it(technique: Technique) -> None:
    before, after = asdict(CUDA), asdict(technique.apply(CUDA))
    changed = {knob for knob, value in after.items() if before[knob] != value}
    assert changed <= set(technique.change)
    assert technique.apply(technique.apply(CUDA)) == technique.apply(CUDA)
    assert technique.checks
    assert technique.why
    assert technique.api


def test_the_plain_values_change_nothing_of_the_plain_setting() -> None:
    plain = {technique.name for technique in EVERY if not technique.changes(Setting())}
    assert plain == {"workers0", "fp32", "single"}


# Needs


def test_data_parallel_needs_two_gpus() -> None:
    assert need(DP, hardware(), Setting()) == "dp needs 2 GPUs, found 0"
    assert need(DP, hardware(gpus=1), CUDA) == "dp needs 2 GPUs, found 1"
    assert need(DP, hardware(gpus=2), CUDA) is None


def test_data_parallel_on_a_cpu_does_not_blame_the_gpus_that_are_there() -> None:
    assert need(DP, hardware(gpus=4), Setting()) == "dp needs 2 GPUs, cpu is none"


def test_every_rank_needs_a_device_or_a_core_of_its_own() -> None:
    assert need(ddp(2), hardware(cores=2), Setting()) is None
    assert need(ddp(2), hardware(cores=1), Setting()) == "ddp2 needs 2 CPU cores, found 1"
    assert need(ddp(4), hardware(gpus=2), CUDA) == "ddp4 needs 4 GPUs, found 2"
    assert need(ddp(2), hardware(gpus=2), CUDA) is None
    assert need(ddp(2), hardware(gpus=2, device="xpu"), Setting(device="xpu")) is None
    assert "mps" in (need(ddp(2), hardware(), Setting(device="mps")) or "")


def test_bf16_needs_units_on_a_gpu_and_nothing_on_a_cpu() -> None:
    old = hardware(gpus=1, bf16=False)
    assert need(AMP_BF16, old, CUDA) == (
        "amp_bf16 needs a GPU that computes in bf16, A GPU does not"
    )
    assert need(AMP_BF16, hardware(gpus=1), CUDA) is None
    assert need(AMP_BF16, old, Setting()) is None


def test_a_device_must_be_there() -> None:
    assert device_needs(hardware(), Setting()) is None
    assert device_needs(hardware(gpus=1), CUDA) is None
    assert device_needs(hardware(), CUDA) == "cuda needs a usable cuda device, found none"


# Evidence


def test_all_loader_workers_must_be_alive() -> None:
    two = Setting(num_workers=2)
    assert holds(workers(2), "loader_workers", two, loader_workers=2)
    assert not holds(workers(2), "loader_workers", two, loader_workers=1)
    assert not holds(workers(0), "loader_workers", Setting(), loader_workers=2)


@pytest.mark.parametrize(
    ("technique", "dtype"), [(FP32, "float32"), (AMP_BF16, "bfloat16"), (AMP_FP16, "float16")]
)
def test_layers_must_have_computed_in_the_precision_of_the_row(
    technique: Technique, dtype: str
) -> None:
    for seen in ("float32", "bfloat16", "float16"):
        convinced = holds(
            technique, "compute_dtype", technique.apply(Setting()), compute_dtype=seen
        )
        assert convinced == (seen == dtype)


def test_a_few_steps_that_the_scaler_skipped_are_how_it_finds_its_scale() -> None:
    def convinced(skipped: int, steps: int) -> bool:
        evidence = {"scaler_skipped_steps": skipped, "steps": steps}
        return holds(AMP_FP16, "grad_scaler", AMP_FP16.apply(Setting()), **evidence)

    assert convinced(2, 5)
    assert convinced(10, 100)
    assert not convinced(11, 100)
    assert not convinced(5, 5)


def test_the_strategy_and_its_replicas_must_be_those_of_the_row() -> None:
    def convinced(technique: Technique, strategy: str, replicas: int) -> bool:
        setting = technique.apply(CUDA)
        evidence = {"strategy": strategy, "replicas": replicas, "visible_devices": 4}
        return holds(technique, "strategy", setting, **evidence)

    assert convinced(SINGLE, "none", 1)
    assert not convinced(SINGLE, "DataParallel", 4)
    assert convinced(DP, "DataParallel", 4)
    assert not convinced(DP, "DataParallel", 1)
    assert convinced(ddp(2), "DistributedDataParallel", 2)
    assert not convinced(ddp(2), "DistributedDataParallel", 1)
    assert not convinced(ddp(2), "none", 2)


def test_ranks_must_hold_the_same_parameters_to_the_last_bit() -> None:
    assert holds(ddp(2), "equal_parameters", Setting(parallel="ddp2"), parameter_spread=0.0)
    assert not holds(ddp(2), "equal_parameters", Setting(parallel="ddp2"), parameter_spread=1e-9)


def test_a_finding_says_what_was_seen() -> None:
    found = workers(2).checks["loader_workers"](Setting(num_workers=2), {"loader_workers": 1})
    assert found == (False, "1 of 2 loader workers alive")
