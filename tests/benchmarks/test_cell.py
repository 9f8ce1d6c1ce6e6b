"""A cell names itself, knows its baseline, and says why a machine cannot run it."""

import pytest

from benchmarks.cell import Cell
from benchmarks.setting import Setting
from benchmarks.techniques import AMP_BF16, AMP_FP16, DP, FP32, SINGLE, Technique, ddp, workers
from tests.benchmarks.machines import hardware


def cell(*axes: Technique, device: str = "cpu", workload: str = "resnet18") -> Cell:
    return Cell(workload, axes, baseline=Setting(device=device), device=device)


PLAIN = cell(workers(0), FP32, SINGLE)
ALL_ON = cell(workers(2), AMP_BF16, ddp(2))


def test_the_id_reads_like_the_table() -> None:
    assert ALL_ON.id == "resnet18-cpu-workers2-amp_bf16-ddp2"
    assert PLAIN.id == "resnet18-cpu-workers0-fp32-single"


def test_a_users_own_workload_is_called_by_what_stands_after_the_colon() -> None:
    own = cell(workers(0), FP32, SINGLE, workload="/home/me/mine.py:my_model")
    assert own.label == "my_model"
    assert own.id == "my_model-cpu-workers0-fp32-single"


def test_the_setting_is_what_all_axes_together_make() -> None:
    assert ALL_ON.setting == Setting(num_workers=2, precision="amp_bf16", parallel="ddp2")
    assert cell(AMP_FP16, device="cuda").setting == Setting(device="cuda", precision="amp_fp16")


def test_only_the_plain_cell_is_the_control() -> None:
    assert PLAIN.is_control
    assert not ALL_ON.is_control
    assert not cell(workers(2), FP32, SINGLE).is_control


def test_the_technique_is_what_differs_from_the_baseline() -> None:
    assert PLAIN.technique == "control"
    assert ALL_ON.technique == "workers2 + amp_bf16 + ddp2"
    assert cell(workers(0), AMP_BF16, SINGLE).technique == "amp_bf16"
    assert [axis.name for axis in cell(workers(4), FP32, DP).changed] == ["workers4", "dp"]


def test_against_another_baseline_the_plain_value_is_the_change() -> None:
    back = Cell("gpt2", (FP32,), baseline=Setting(precision="amp_bf16"), device="cpu")
    assert back.technique == "fp32"
    assert not back.is_control


def test_another_device_is_a_change_and_no_control() -> None:
    accelerator = Cell("gpt2", (FP32, SINGLE), baseline=Setting(device="cpu"), device="cuda")
    assert accelerator.technique == "cuda"
    assert not accelerator.is_control


def test_what_fits_the_machine_is_possible() -> None:
    assert ALL_ON.impossible(hardware(cores=2)) is None
    on_gpus = cell(workers(2), AMP_BF16, ddp(2), device="cuda")
    assert on_gpus.impossible(hardware(gpus=2)) is None


@pytest.mark.parametrize(
    ("candidate", "reason"),
    [
        (cell(FP32, device="cuda"), "cuda needs a usable cuda device, found none"),
        (cell(workers(0), FP32, DP), "dp needs 2 GPUs, found 0"),
        (cell(workers(0), FP32, ddp(16)), "ddp16 needs 16 CPU cores, found 8"),
    ],
)
def test_what_does_not_fit_is_said_before_it_is_measured(candidate: Cell, reason: str) -> None:
    assert candidate.impossible(hardware(cores=8)) == reason


def test_the_baselines_device_must_be_there_as_well() -> None:
    slower_on_purpose = Cell("gpt2", (FP32,), baseline=Setting(device="cuda"), device="cpu")
    assert slower_on_purpose.impossible(hardware()) == "cuda needs a usable cuda device, found none"
