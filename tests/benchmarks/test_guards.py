"""Guards: what a cell must prove, of either arm and in every start, before it counts."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from benchmarks.cell import Cell
from benchmarks.engine.experiment import BASELINE, CANDIDATE
from benchmarks.guards import inspect, loss_tolerance, losses_agree
from benchmarks.setting import Setting
from benchmarks.techniques import AMP_BF16, FP32, SINGLE, ddp, workers

LOSSES = [2.5, 2.4, 2.3, 2.2]
CELL = Cell("resnet18", (workers(2), AMP_BF16, SINGLE), baseline=Setting(), device="cpu")


def evidence(**given: Any) -> dict[str, Any]:
    """Of a plain training in which all is well; `given` replaces any of it."""
    well: dict[str, Any] = {
        "loader_workers": 0,
        "compute_dtype": "float32",
        "weight_dtypes": ["float32"],
        "fp32_matmul": "ieee",
        "fp32_conv": "ieee",
        "weight_layouts": ["contiguous"],
        "input_layouts": ["contiguous"],
        "activation_layouts": ["contiguous"],
        "attention_kernels": [],
        "attention_allowed": ["cudnn", "efficient", "flash", "math"],
        "optimizer_ran": "for_loop",
        "optimizer_by_default": "for_loop",
        "gradients_cleared": "none",
        "compiled": "none",
        "compiled_calls": 0,
        "strategy": "none",
        "replicas": 1,
        **shared_by(1),
        "losses": LOSSES,
    }
    return well | given


def shared_by(ranks: int, backend: str = "nccl") -> dict[str, Any]:
    """What ranks under DistributedDataParallel read back; of one, a bare model."""
    alone = ranks == 1
    return {
        "stages": 1,
        "backend": None if alone else backend,
        "parameters": 100,
        "parameters_by_rank": [100] * ranks,
        "updated_by_rank": [100] * ranks,
        "sharded_optimizer": False,
        "parameter_spread": 0.0,
        "bucket_cap_bytes": None if alone else 25 << 20,
        "buckets": None if alone else 2,
        "static_graph": None if alone else False,
        "bucket_view": None if alone else False,
        "collectives": None if alone else {"allreduce_": 2},
    }


def seen(**given: Any) -> dict[str, Any]:
    """Evidence of the candidate of CELL."""
    return evidence(**{"loader_workers": 2, "compute_dtype": "bfloat16"} | given)


def broken(
    candidate: Sequence[Mapping[str, Any]], baseline: Sequence[Mapping[str, Any]]
) -> dict[str, str]:
    """The guards that failed, and what they say."""
    found = inspect(CELL, {CANDIDATE: candidate, BASELINE: baseline})
    assert len({guard["name"] for guard in found}) == len(found)
    return {guard["name"]: guard["detail"] for guard in found if not guard["ok"]}


def test_a_cell_in_which_all_took_effect_passes_every_guard() -> None:
    found = inspect(CELL, {CANDIDATE: [seen()], BASELINE: [evidence()]})
    assert {guard["name"] for guard in found} >= {
        "loader_workers",
        "compute_dtype",
        "strategy",
        "finite_losses",
        "parallel_losses",
        "baseline_loader_workers",
        "baseline_compute_dtype",
        "baseline_strategy",
    }
    assert all(guard["ok"] for guard in found)


def test_nothing_measured_means_nothing_to_guard() -> None:
    assert inspect(CELL, {CANDIDATE: [], BASELINE: []}) == []


def test_a_technique_that_did_not_take_effect_is_found() -> None:
    assert broken([seen(compute_dtype="float32")], [evidence()]) == {
        "compute_dtype": "layers computed in float32"
    }


def test_a_baseline_that_is_not_plain_is_found() -> None:
    assert set(broken([seen()], [evidence(compute_dtype="bfloat16")])) == {"baseline_compute_dtype"}


@pytest.mark.parametrize("bad_start", [0, 1, 2])
def test_a_guard_that_fails_in_one_start_has_failed(bad_start: int) -> None:
    starts = [seen(loader_workers=1 if start == bad_start else 2) for start in range(3)]
    assert broken(starts, [evidence()] * 3) == {"loader_workers": "1 of 2 loader workers alive"}


def test_losses_near_the_baselines_agree() -> None:
    (finite, parallel) = losses_agree([2.51, 2.41], [2.5, 2.4], tolerance=0.02)
    assert finite["ok"]
    assert parallel["ok"]
    assert parallel["detail"] == "mean of 2 first losses 2.46, baseline 2.45"


@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_losses_that_are_higher_or_lower_than_tolerated_are_found(factor: float) -> None:
    off = [factor * loss for loss in LOSSES]
    assert set(broken([seen(losses=off)], [evidence()])) == {"parallel_losses"}


@pytest.mark.parametrize("loss", [math.nan, math.inf])
def test_a_loss_that_is_not_finite_is_found(loss: float) -> None:
    assert set(broken([seen(losses=[2.5, loss])], [evidence()])) == {"finite_losses"}


def test_a_baseline_whose_losses_are_not_finite_is_no_measure_for_any() -> None:
    assert set(broken([seen()], [evidence(losses=[math.nan] * 4)])) == {"parallel_losses"}


def test_only_as_many_losses_are_compared_as_both_have() -> None:
    assert losses_agree([2.0], [2.0, 50.0], tolerance=0.01)[1]["ok"]
    assert [guard["name"] for guard in losses_agree([], [2.0], 0.01)] == ["finite_losses"]


def test_a_baseline_loss_of_zero_is_compared_absolutely() -> None:
    assert losses_agree([0.0], [0.0], tolerance=0.02)[1]["ok"]
    assert not losses_agree([0.1], [0.0], tolerance=0.02)[1]["ok"]


def test_the_tolerance_is_that_of_the_boldest_change() -> None:
    def tolerance(*axes: Any, device: str = "cpu") -> float:
        return loss_tolerance(Cell("gpt2", axes, baseline=Setting(), device=device))

    plain = tolerance(workers(0), FP32, SINGLE)
    assert plain == FP32.loss_tolerance
    assert tolerance(workers(2), FP32, SINGLE) == plain
    assert tolerance(workers(2), AMP_BF16, SINGLE) == AMP_BF16.loss_tolerance > plain
    assert tolerance(workers(2), AMP_BF16, ddp(2)) == ddp(2).loss_tolerance
    assert tolerance(workers(0), FP32, SINGLE, device="cuda") > plain


def test_what_only_the_first_start_looked_at_is_not_asked_of_the_others() -> None:
    first = evidence()
    later = {name: value for name, value in first.items() if name != "compute_dtype"}
    cell = Cell("resnet18", (workers(0), AMP_BF16, SINGLE), baseline=Setting(), device="cpu")
    found = inspect(cell, {"candidate": [first, later], "baseline": [first, later]})
    dtype = next(guard for guard in found if guard["name"] == "compute_dtype")
    assert not dtype["ok"]
    with pytest.raises(KeyError):
        inspect(cell, {"candidate": [later, first], "baseline": [first, later]})
