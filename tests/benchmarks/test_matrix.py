"""Which cells there are, which of them are quick, and in which order they come."""

from collections import Counter

import pytest

from benchmarks.cell import Cell
from benchmarks.matrix import (
    QUICK_ON_CPU,
    Scope,
    accelerator_against_cpu,
    matrix,
    parallel_axis,
    worker_counts,
)
from benchmarks.setting import Setting
from tests.benchmarks.machines import at_a_glance
from workloads import CATALOG


def scope(*devices: str, gpus: int = 0, cores: int = 2, named: bool = False) -> Scope:
    return Scope(tuple(CATALOG), devices, at_a_glance(gpus=gpus, cores=cores), named)


def quick(cells: list[Cell]) -> list[Cell]:
    return [cell for cell in cells if cell.quick]


@pytest.mark.parametrize(
    ("cores", "counts"), [(1, [0, 2]), (2, [0, 2]), (4, [0, 2, 4]), (64, [0, 2, 4, 8])]
)
def test_more_loader_workers_where_there_are_cores(cores: int, counts: list[int]) -> None:
    assert worker_counts(cores) == counts


@pytest.mark.parametrize(
    ("device", "gpus", "names"),
    [
        ("cpu", 0, ["single", "dp", "ddp2"]),
        ("cpu", 8, ["single", "dp", "ddp2"]),
        ("cuda", 1, ["single", "dp", "ddp2"]),
        ("cuda", 2, ["single", "dp", "ddp2"]),
        ("cuda", 8, ["single", "dp", "ddp2", "ddp8"]),
        ("mps", 0, ["single", "dp", "ddp2"]),
    ],
)
def test_ddp_over_two_ranks_and_over_every_device(device: str, gpus: int, names: list[str]) -> None:
    assert [axis.name for axis in parallel_axis(device, at_a_glance(gpus=gpus))] == names


def test_the_matrix_is_every_combination_once() -> None:
    cells = matrix(scope("cpu", "cuda", gpus=2, cores=4))
    assert len(cells) == len(CATALOG) * 2 * 3 * 3 * 3  # devices, workers, precisions, strategies
    assert max(Counter(cell.id for cell in cells).values()) == 1
    assert "resnet18-cpu-workers2-amp_bf16-ddp2" in {cell.id for cell in cells}


def test_every_cell_is_measured_against_the_plain_setting_of_its_device() -> None:
    for cell in matrix(scope("cpu", "cuda", gpus=1)):
        assert cell.baseline == Setting(device=cell.device)


def test_there_is_one_control_for_each_workload_and_device_and_it_comes_first() -> None:
    cells = matrix(scope("cpu", "cuda", gpus=1))
    controls = [cell for cell in cells if cell.is_control]
    pairs = {(cell.workload, cell.device) for cell in controls}
    assert len(controls) == len(pairs) == 2 * len(CATALOG)
    assert cells[: len(controls)] == controls


def test_single_changes_come_before_combinations() -> None:
    changes = [len(cell.changed) for cell in matrix(scope("cpu"))]
    assert changes == sorted(changes)


def test_on_a_cpu_the_quick_tier_is_one_change_at_a_time_of_two_workloads() -> None:
    cells = quick(matrix(scope("cpu")))
    assert {cell.workload for cell in cells} == set(QUICK_ON_CPU)
    assert {cell.technique for cell in cells} == {
        "control",
        "workers2",
        "amp_bf16",
        "amp_fp16",
        "dp",
        "ddp2",
    }
    assert set(QUICK_ON_CPU) <= set(CATALOG)


def test_a_workload_that_the_user_names_is_quick_too() -> None:
    named = Scope(("vit_b_16",), ("cpu",), at_a_glance(), named=True)
    assert {cell.workload for cell in quick(matrix(named))} == {"vit_b_16"}


def test_on_an_accelerator_every_workload_is_quick_and_all_together_as_well() -> None:
    cells = quick(matrix(scope("cuda", gpus=4, cores=16)))
    assert {cell.workload for cell in cells} == set(CATALOG)
    combined = {cell.technique for cell in cells if len(cell.changed) > 1}
    assert combined == {"workers8 + amp_bf16 + ddp4"}


def test_each_accelerator_is_measured_against_the_cpu_at_a_scale_a_cpu_can_do() -> None:
    cells = accelerator_against_cpu(scope("cpu", "cuda", "xpu", gpus=1))
    assert {cell.device for cell in cells} == {"cuda", "xpu"}
    assert {cell.workload for cell in cells} == set(CATALOG)
    for cell in cells:
        assert cell.baseline == Setting(device="cpu")
        assert cell.scale == "tiny"
        assert not cell.is_control


def test_without_an_accelerator_the_cell_is_there_to_say_so() -> None:
    cells = accelerator_against_cpu(scope("cpu"))
    assert {cell.technique for cell in cells} == {"cuda"}
