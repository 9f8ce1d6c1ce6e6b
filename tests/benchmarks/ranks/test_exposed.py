"""Exposed communication, from made-up seconds of ranks, and from replicas that sleep."""

import time
from typing import Any

import pytest
from torch import nn

from benchmarks.ranks.breakdown import break_down
from benchmarks.ranks.exposed import account
from tests.benchmarks.small_training import training

PARTS = ("data", "copy", "forward", "backward", "optimizer", "communication", "other")
STEP = {"data": 1.0, "copy": 0.5, "forward": 2.0, "backward": 4.0, "optimizer": 1.0, "step": 9.0}


def rank(alone: dict[str, float] | None = None, **changed: float) -> dict[str, float]:
    """A rank's seconds; `alone` are those of its parts that differ without the exchange."""
    seen = {f"{name}_s": value for name, value in (STEP | changed).items()}
    if alone is not None:
        seen |= {f"alone_{name}_s": value for name, value in (STEP | changed | alone).items()}
    return seen


def parts_of(found: dict[str, Any]) -> float:
    return sum(float(found[f"{name}_s"]) for name in PARTS)


def test_one_rank_communicates_with_nobody() -> None:
    found = account([rank()], "single")
    assert found["communication_s"] == 0.0
    assert found["other_s"] == pytest.approx(0.5)
    assert parts_of(found) == pytest.approx(9.0)


def test_what_a_step_saves_without_the_exchange_is_exposed_wherever_it_was() -> None:
    exchanging = rank(alone={"forward": 1.8, "backward": 3.0})
    found = account([exchanging, exchanging], "ddp2")
    assert found["communication_s"] == pytest.approx(1.2)
    assert found["forward_s"] == pytest.approx(1.8)
    assert found["backward_s"] == pytest.approx(3.0)
    assert parts_of(found) == pytest.approx(9.0)


def test_an_exchange_that_is_hidden_costs_nothing_and_noise_is_not_negative() -> None:
    found = account([rank(alone={"forward": 2.1, "backward": 4.0})] * 2, "ddp2")
    assert found["communication_s"] == 0.0
    assert (found["forward_s"], found["backward_s"]) == (2.0, 4.0)


def test_the_slowest_rank_is_the_one_that_nobody_waits_for() -> None:
    quick, slow = rank(alone={"backward": 2.0}), rank(alone={"backward": 4.0})
    found = account([quick, slow], "ddp2")
    assert found["communication_s"] == pytest.approx(1.0)  # the quick one's wait, over both
    assert found["slowest_rank"] == 1
    assert found["imbalance"] == pytest.approx(8.5 / 7.5)


def test_dataparallels_three_ways_of_moving_data_are_parts_of_its_forward() -> None:
    moved = {"scatter_s": 0.1, "replicate_s": 0.6, "gather_s": 0.2}
    found = account([rank() | moved], "dp")
    assert {name: found[name] for name in moved} == moved
    assert found["communication_s"] == pytest.approx(0.9)
    assert found["forward_s"] == pytest.approx(1.1)
    assert parts_of(found) == pytest.approx(9.0)


@pytest.mark.parametrize(("ranks", "parallel"), [(2, "fsdp2"), (2, "pp2"), (1, "mp")])
def test_where_ranks_cannot_be_trained_apart_it_is_unknown_with_a_reason(
    ranks: int, parallel: str
) -> None:
    found = account([rank()] * ranks, parallel)
    assert found["communication_s"] is None
    assert "without talking" in found["communication_reason"]


class SleepyParallel(nn.DataParallel[nn.Module]):
    """DataParallel whose three ways of moving data are sleeps of known length."""

    def forward(self, *inputs: Any, **named: Any) -> Any:
        (scattered, *_), _ = self.scatter(inputs, named, [])
        self.replicate(self.module, [])
        return self.gather(self.module(scattered), 0)

    def scatter(self, inputs: Any, kwargs: Any, device_ids: Any) -> Any:
        time.sleep(0.02)
        return inputs, kwargs

    def replicate(self, module: Any, device_ids: Any) -> Any:
        time.sleep(0.12)
        return [module]

    def gather(self, outputs: Any, output_device: Any) -> Any:
        time.sleep(0.06)
        return outputs


def test_dataparallel_tells_what_it_moves_apart() -> None:
    with training() as replicated:
        replicated.model = SleepyParallel(replicated.module)
        found = break_down(replicated, steps=3)
    late = 0.03  # of a busy machine, which wakes nobody early
    for name, seconds in {"scatter": 0.02, "replicate": 0.12, "gather": 0.06}.items():
        assert seconds <= found[f"{name}_s"] < seconds + late
    assert found["communication_s"] >= 0.2
    assert found["forward_s"] < 0.1, "what is moved is not computed"
