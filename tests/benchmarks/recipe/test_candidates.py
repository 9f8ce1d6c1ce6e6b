"""Which techniques may be on the ladder, and at which batch."""

from dataclasses import replace

import pytest

from benchmarks.recipe.candidates import at_the_same_batch, everything, sort_out, why_not
from benchmarks.setting import Setting
from benchmarks.techniques import AMP_BF16, DP, FP32, ddp, workers
from tests.benchmarks.machines import at_a_glance


def test_plain_values_are_no_candidates_and_the_rest_of_the_matrix_is() -> None:
    wanted, left = sort_out([workers(0), FP32, workers(2), AMP_BF16, ddp(2)], "cpu", 1, 8)
    assert [technique.name for technique in wanted] == ["workers2", "amp_bf16", "ddp2"]
    assert left == []


def test_ranks_share_the_plain_batch_so_that_a_step_learns_as_much() -> None:
    assert at_the_same_batch(ddp(4), 4).change == {"parallel": "ddp4", "batch": 0.25}
    assert at_the_same_batch(DP, 2).change == {"parallel": "dp", "batch": 0.5}
    assert at_the_same_batch(workers(2), 2) == workers(2)


def test_strong_scaling_that_has_a_name_of_its_own_is_tried_once() -> None:
    strong = replace(ddp(2), name="ddp2_strong", change={"parallel": "ddp2", "batch": 0.5})
    wanted, _ = sort_out([ddp(2), strong], "cpu", 1, 8)
    assert [technique.name for technique in wanted] == ["ddp2_strong"]


def test_a_batch_that_cannot_be_shared_out_is_not_tried() -> None:
    wanted, (left,) = sort_out([ddp(3)], "cpu", 1, 8)
    assert wanted == []
    assert left.reason == "not for the ladder: 3 ranks cannot share a batch of 8"


@pytest.mark.parametrize(
    ("knobs", "reason"),
    [
        ({"batch": 2.0}, "changes what is trained"),
        ({"parallel": "ddp2"}, "changes what is trained"),  # weak scaling: twice the global batch
        ({"learning_rate": 2.0}, "changes what is trained"),
        ({"accumulate": 2}, "saves memory"),
        ({"checkpointing": True}, "saves memory"),
        ({"epoch_steps": 4, "num_workers": 2}, "epochs"),
        ({"precision": "bf16"}, "small updates"),
        ({"attention": "math"}, "compared with"),
        ({"variables": (("ONEDNN_MAX_CPU_ISA", "AVX2"),)}, "compared with"),
        ({"parallel": "pp2", "batch": 0.5, "accumulate": 2}, "no line for parallel=pp2"),
    ],
)
def test_what_is_another_training_or_cannot_be_written_is_left_with_its_reason(
    knobs: dict[str, object], reason: str
) -> None:
    assert reason in (why_not(Setting(**knobs), 1, None) or "")  # type: ignore[arg-type]


def test_each_name_is_tried_once() -> None:
    names = [technique.name for technique in everything("cpu", at_a_glance(cores=4))]
    assert len(names) == len(set(names))
    assert {"workers2", "amp_bf16", "ddp2"} <= set(names)
