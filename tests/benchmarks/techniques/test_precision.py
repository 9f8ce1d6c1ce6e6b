"""Each precision is what it says, down to flags and weights."""

from dataclasses import replace

import pytest
import torch

from benchmarks.setting import Setting
from benchmarks.techniques.precision import BF16, TF32
from benchmarks.training.precision import cast_inputs, choose_fp32
from tests.benchmarks.machines import hardware
from tests.benchmarks.small_training import flags_as_before, training
from tests.benchmarks.techniques.seen import believed, seen_of

CUDA = Setting(device="cuda")


def test_fp32_means_ieee_fp32_on_every_gpu() -> None:
    with training() as trained:
        evidence = seen_of(trained)
    assert (evidence["fp32_matmul"], evidence["fp32_conv"]) == ("ieee", "ieee")
    assert believed("fp32_arithmetic", Setting(), evidence)
    assert not believed("fp32_arithmetic", Setting(), evidence, fp32_conv="tf32")
    assert not believed("fp32_arithmetic", Setting(), evidence, fp32_matmul="tf32")


def test_tf32_is_for_products_and_convolutions_both() -> None:
    with training(precision="tf32") as trained:
        evidence = seen_of(trained)
    assert believed("fp32_arithmetic", Setting(precision="tf32"), evidence)
    assert not believed("fp32_arithmetic", Setting(), evidence)


@pytest.mark.parametrize("precision", ["fp32", "tf32", "amp_bf16"])
def test_the_older_flags_say_the_same_since_inductor_asks_them(precision: str) -> None:
    with flags_as_before():
        choose_fp32("tf32")
        choose_fp32(precision)
        assert torch.backends.cuda.matmul.allow_tf32 == (precision == "tf32")
        assert torch.backends.cudnn.allow_tf32 == (precision == "tf32")
        expected = "high" if precision == "tf32" else "highest"
        assert torch.get_float32_matmul_precision() == expected


def test_pure_bf16_has_its_weights_and_gradients_in_bf16() -> None:
    with training(precision="bf16") as trained:
        evidence = seen_of(trained)
        kept = {p.grad.dtype for p in trained.module.parameters() if p.grad is not None}
    assert kept == {torch.bfloat16}
    assert evidence["weight_dtypes"] == ["bfloat16"]
    bf16 = Setting(precision="bf16")
    assert believed("weight_dtypes", bf16, evidence)
    assert believed("compute_dtype", bf16, evidence)
    assert not believed("weight_dtypes", bf16, evidence, weight_dtypes=["float32"])
    assert not believed("weight_dtypes", Setting(precision="amp_bf16"), evidence)


def test_pure_bf16_follows_the_losses_of_fp32() -> None:
    def losses(precision: str) -> list[float]:
        with training(precision=precision) as trained:
            for _ in range(8):
                trained.step()
            return trained.losses()

    assert losses("bf16") == pytest.approx(losses("fp32"), rel=BF16.loss_tolerance)


def test_tokens_are_indices_and_stay_what_they_are() -> None:
    bf16 = Setting(precision="bf16")
    assert cast_inputs(torch.tensor([1, 2]), bf16).dtype == torch.int64
    assert cast_inputs(torch.tensor([1.0, 2.0]), bf16).dtype == torch.bfloat16
    assert cast_inputs(torch.tensor([1.0, 2.0]), Setting()).dtype == torch.float32


def test_tf32_needs_an_nvidia_gpu_of_ampere_or_later() -> None:
    def need(**gpu: object) -> str | None:
        machine = hardware(gpus=1)
        gpus = tuple(replace(each, **gpu) for each in machine.gpus)  # type: ignore[arg-type]
        return TF32.needs(replace(machine, gpus=gpus), TF32.apply(CUDA))

    assert need(capability=(8, 0)) is None
    assert need(capability=(7, 5)) == "tf32 needs compute capability 8.0, A GPU has 7.5"
    assert TF32.needs(hardware(), TF32.apply(Setting())) == (
        "tf32 needs the tensor cores of an NVIDIA GPU, cpu has none"
    )
    amd = replace(hardware(gpus=1), torch_facts={"hip": "6.2"})
    assert "AMD" in (TF32.needs(amd, TF32.apply(CUDA)) or "")


def test_pure_bf16_needs_units_too() -> None:
    old = hardware(gpus=1, bf16=False)
    assert BF16.needs(old, BF16.apply(CUDA)) == (
        "bf16 needs a GPU that computes in bf16, A GPU does not"
    )
