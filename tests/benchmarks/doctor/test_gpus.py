"""A GPU that reaches this process, but driver, variable, kernels or links do not fit."""

from pathlib import Path

import pytest

from tests.benchmarks.doctor.visit import H200, a_root, load_module, visit

NODES = ("dev/nvidia0", "dev/nvidiactl", "dev/nvidia-uvm")
RTX_5090, V100 = ["NVIDIA GeForce RTX 5090", [12, 0]], ["Tesla V100", [7, 0]]


def test_a_healthy_gpu_is_described_and_nothing_is_found(tmp_path: Path) -> None:
    seen = visit(a_root(tmp_path, *NODES), {"gpus": [H200]}, scenario="two")
    assert (seen.headings, seen.code) == ([], 0)
    assert "NVIDIA H200, 80 GiB, capability 9.0, tensor cores: fp16 bf16 tf32 fp8" in seen.page
    assert "driver       580.65.06" in seen.page
    assert "Training works here, on the GPU (cuda). Warnings: 0." in seen.page


def test_a_driver_too_old_for_the_runtime(tmp_path: Path) -> None:
    seen = visit(a_root(tmp_path, *NODES), scenario="old")
    finding = seen.finding("mend: the NVIDIA driver is too old for CUDA 13.0")
    assert "driver 418.40; torch 2.14.1+cu130 needs 580 or newer" in finding
    assert seen.code == 1


def test_the_kernel_modules_version_serves_where_the_library_does_not(tmp_path: Path) -> None:
    root = a_root(tmp_path, *NODES)
    load_module(root, "535.183.01")
    seen = visit(root)
    assert "driver 535.183.01" in seen.finding("driver is too old")
    assert "needs 525" not in visit(root, {"cuda": "12.8"}).page


def test_nodes_whose_driver_does_not_answer(tmp_path: Path) -> None:
    seen = visit(a_root(tmp_path, *NODES))
    finding = seen.finding("mend: the GPU's nodes are here, but its driver does not answer")
    assert "/dev/nvidia0: the NVIDIA driver is not loaded" in finding


@pytest.mark.parametrize(
    ("setting", "level", "code"),
    [("", "warning", 0), ("-1", "warning", 0), ("7", "mend", 1), ("GPU-ffff", "mend", 1)],
)
def test_a_variable_that_hides_every_gpu_on_purpose_or_by_mistake(
    tmp_path: Path, setting: str, level: str, code: int
) -> None:
    seen = visit(a_root(tmp_path, *NODES), scenario="two", CUDA_VISIBLE_DEVICES=setting)
    finding = seen.finding(f"{level}: CUDA_VISIBLE_DEVICES hides every GPU")
    assert f"CUDA_VISIBLE_DEVICES={setting!r}; the driver lists GPUs 0 to 1" in finding
    assert seen.code == code
    assert len(seen.headings) == 1, "one cause, one finding"


def test_a_list_that_ends_early_is_a_warning(tmp_path: Path) -> None:
    seen = visit(
        a_root(tmp_path, *NODES), {"gpus": [H200]}, scenario="two", CUDA_VISIBLE_DEVICES="0,7,1"
    )
    assert "ends at '7'" in seen.finding("warning: CUDA_VISIBLE_DEVICES names 3 devices")
    assert seen.code == 0


@pytest.mark.parametrize(
    ("gpu", "advice"),
    [(RTX_5090, "install a newer torch"), (V100, "built for an older CUDA")],
)
def test_a_gpu_newer_or_older_than_the_builds_kernels(
    tmp_path: Path, gpu: list[object], advice: str
) -> None:
    seen = visit(a_root(tmp_path, *NODES), {"gpus": [gpu], "usable": False}, scenario="two")
    finding = seen.finding(f"mend: this PyTorch holds no kernels for {gpu[0]}")
    assert "is built for sm_80 sm_90" in finding
    assert advice in finding
    assert seen.code == 1
    assert len(seen.headings) == 1


def test_what_no_check_explains_is_told_in_torchs_words(tmp_path: Path) -> None:
    torch = {"gpus": [H200], "usable": False}
    seen = visit(a_root(tmp_path, *NODES), torch, scenario="two")
    finding = seen.finding("mend: there is a GPU, but PyTorch cannot use it")
    assert "CUDA error: no kernel image is available" in finding
    assert seen.code == 1


def test_gpus_that_do_not_reach_each_other(tmp_path: Path) -> None:
    torch = {"gpus": [H200, H200, H200], "peers": [[0, 2]]}
    seen = visit(a_root(tmp_path, *NODES), torch, scenario="two")
    assert "peer access  0-2" in seen.page
    assert "works for 1 of 3 pairs" in seen.finding("warning: not all GPUs reach each other")
    assert seen.code == 0


def test_several_gpus_without_nccl(tmp_path: Path) -> None:
    torch = {"gpus": [H200, H200], "peers": [[0, 1]], "nccl": None}
    seen = visit(a_root(tmp_path, *NODES), torch, scenario="two")
    assert seen.headings == ["warning: this PyTorch has no NCCL, and there are several GPUs"]
