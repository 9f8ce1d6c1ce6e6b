"""Which kernel computed attention is read off a step's operators."""

from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.utils.data import Dataset

from benchmarks.cell import Cell
from benchmarks.setting import Setting
from benchmarks.techniques import checks
from benchmarks.techniques.attention import CUDNN, EFFICIENT, FLASH, MATH
from benchmarks.training.attention import kernels
from tests.benchmarks.machines import hardware
from tests.benchmarks.small_training import SMALL, training
from tests.benchmarks.techniques.pictures import losses_of
from tests.benchmarks.techniques.seen import believed, seen_of
from workloads import CATALOG, Source
from workloads.transformer import GPT2

CUDA, HALF = Setting(device="cuda"), Setting(device="cuda", precision="amp_bf16")


class Tokens(Dataset[tuple[torch.Tensor, torch.Tensor]]):
    def __init__(self, source: Source) -> None:
        pass

    def __getitem__(self, position: int) -> tuple[torch.Tensor, torch.Tensor]:
        tokens = torch.arange(position, position + 9) % 7
        return tokens[:-1], tokens[1:]


def model() -> nn.Module:
    return GPT2(vocabulary=7, positions=8, width=8, layers=1, heads=2)


TEXT = replace(SMALL, model=model, data=Tokens, loss="workloads.losses:cross_entropy")


@pytest.mark.parametrize("name", ["math", "flash"])
def test_the_kernel_asked_for_is_the_one_that_runs(name: str) -> None:
    with training(TEXT, attention=name) as trained:
        evidence = seen_of(trained)
    assert evidence["attention_kernels"] == evidence["attention_allowed"] == [name]
    for other in ("math", "flash", "efficient"):
        assert believed("attention", Setting(attention=other), evidence) == (other == name)
    assert not believed("attention", Setting(), evidence)  # nothing may be switched off


def test_plain_is_what_torch_chooses_among_all() -> None:
    with training(TEXT) as trained:
        evidence = seen_of(trained)
    assert evidence["attention_kernels"] == ["flash"]  # on a CPU, without dropout
    assert evidence["attention_allowed"] == ["cudnn", "efficient", "flash", "math"]
    finding = checks()["attention"](Setting(), evidence)
    assert finding == (True, "attention by flash, which torch chose")
    assert not believed("attention", Setting(attention="math"), evidence)


def test_a_model_without_attention_cannot_prove_any() -> None:
    with training(attention="flash") as trained:
        assert not believed("attention", Setting(attention="flash"), seen_of(trained))
    with training() as trained:
        assert checks()["attention"](Setting(), seen_of(trained)) is None


def test_math_in_compiled_code_shows_no_operator_but_other_kernels_must() -> None:
    evidence = {"attention_kernels": [], "attention_allowed": ["math"]}
    assert believed("attention", Setting(attention="math", compile="default"), evidence)
    assert not believed("attention", Setting(attention="math"), evidence)
    flash = Setting(attention="flash", compile="default")
    assert not believed("attention", flash, evidence, attention_allowed=["flash"])


def test_only_models_with_attention_have_kernels_to_choose_from() -> None:
    def impossible(workload: str) -> str | None:
        return Cell(workload, (MATH,), Setting(), "cpu").impossible(hardware())

    assert [name for name in CATALOG if impossible(name) is None] == [
        "vit_b_16",
        "bert_base",
        "gpt2",
    ]
    assert impossible("resnet18") == "attention_math is for models with attention, resnet18 is none"


def test_kernels_are_named_alike_on_every_device_and_in_both_passes() -> None:
    names = [
        "aten::scaled_dot_product_attention",
        "aten::_scaled_dot_product_flash_attention_for_cpu",
        "aten::_scaled_dot_product_flash_attention_backward",
        "aten::_scaled_dot_product_efficient_attention",
        "aten::_scaled_dot_product_cudnn_attention_backward",
        "aten::_scaled_dot_product_attention_math",
    ]
    assert kernels(names) == ["cudnn", "efficient", "flash", "math"]


def test_every_kernel_computes_the_same() -> None:
    with training(TEXT, attention="math") as trained:
        by_math = losses_of(trained, 4)
    with training(TEXT, attention="flash") as trained:
        assert losses_of(trained, 4) == pytest.approx(by_math, rel=1e-5)


def test_what_each_kernel_needs() -> None:
    cpu, gpu = hardware(), hardware(gpus=1)
    assert MATH.needs(cpu, MATH.apply(Setting())) is None
    assert FLASH.needs(cpu, FLASH.apply(Setting())) is None
    assert "cpu" in (EFFICIENT.needs(cpu, EFFICIENT.apply(Setting())) or "")
    assert "NVIDIA" in (CUDNN.needs(cpu, CUDNN.apply(Setting())) or "")
    for technique in (FLASH, CUDNN):
        assert technique.needs(gpu, technique.apply(HALF)) is None
        assert technique.needs(gpu, technique.apply(CUDA)) == (
            f"{technique.name} needs 16-bit numbers on a GPU, not fp32"
        )
        turing = replace(gpu, gpus=tuple(replace(g, capability=(7, 5)) for g in gpu.gpus))
        assert technique.needs(turing, technique.apply(HALF)) == (
            f"{technique.name} needs compute capability 8.0, A GPU has 7.5"
        )
    assert EFFICIENT.needs(gpu, EFFICIENT.apply(CUDA)) is None
