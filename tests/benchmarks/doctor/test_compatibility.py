"""Which driver, GPU and torchvision fit: the rules that the findings stand on."""

import pytest

from benchmarks.doctor.compatibility import (
    has_kernels,
    numbers,
    older,
    oldest_driver,
    tensor_dtypes,
    torchvision_for,
)


@pytest.mark.parametrize(
    ("version", "oldest", "is_older"),
    [
        ("580.65.06", "580", False),
        ("580", "580.0", False),
        ("579.99", "580", True),
        ("525.60.13", "525.60.13", False),
        ("525.60.11", "525.60.13", True),
        ("2.14.1+cu130", "2.9", False),  # numbers, not text
        ("2.10.0a0", "2.9", False),
    ],
)
def test_versions_compare_as_numbers(version: str, oldest: str, is_older: bool) -> None:
    assert older(version, oldest) is is_older


def test_a_runtime_that_is_not_known_has_no_oldest_driver() -> None:
    assert oldest_driver("13.0") == "580"
    assert oldest_driver("12.8") == "525.60.13"
    assert oldest_driver("14.1") is None
    assert oldest_driver("") is None
    assert numbers("unknown") == ()


@pytest.mark.parametrize(
    ("arch_list", "capability", "runs"),
    [
        ("sm_80 sm_90", (9, 0), True),
        ("sm_80 sm_90", (8, 9), True),  # the same major version, a later minor one
        ("sm_86", (8, 0), False),
        ("sm_80 sm_90", (12, 0), False),
        ("sm_80 compute_90", (12, 0), True),  # PTX is compiled for what is newer
        ("sm_120", (12, 1), True),
        ("sm_75", (7, 0), False),
        ("sm_90a", (9, 0), True),
        ("sm_100a", (10, 3), False),
        ("sm_100f", (10, 3), True),
        ("sm_100f", (12, 0), False),
        ("compute_90a", (12, 0), False),
        ("gfx942", (9, 4), False),
    ],
)
def test_a_build_runs_on_its_own_and_later_gpus_by_cudas_rules(
    arch_list: str, capability: tuple[int, int], runs: bool
) -> None:
    assert has_kernels(tuple(arch_list.split()), capability) is runs


def test_tensor_cores_multiply_more_types_with_every_generation() -> None:
    assert tensor_dtypes((6, 1)) == ()
    assert tensor_dtypes((7, 0)) == ("fp16",)
    assert "bf16" not in tensor_dtypes((7, 5))
    assert "bf16" in tensor_dtypes((8, 6))
    assert "fp8" not in tensor_dtypes((8, 6))
    assert "fp8" in tensor_dtypes((9, 0))
    assert "fp4" in tensor_dtypes((12, 0))
    assert tensor_dtypes((7, 5), "NVIDIA GeForce GTX 1660") == ()


def test_torchvision_follows_torchs_minor_version() -> None:
    assert torchvision_for("2.14.1+cu130") == "0.29"
    assert torchvision_for("2.0.1") == "0.15"
    assert torchvision_for("1.13") is None
    assert torchvision_for("nightly") is None
