"""Batch and learning rate: what a step really takes in, at which rate, and until when."""

from typing import Any

import pytest

from benchmarks.setting import Setting
from benchmarks.techniques.batch_size import BATCHES, WARM_UP_STEPS, rate_at, rates
from benchmarks.training.rates import relative_rate
from benchmarks.training.target import Smoothed, train_to
from benchmarks.training.watch import watched
from tests.benchmarks.small_training import BATCH, training

CHECKS = BATCHES[2.0].checks


@pytest.mark.parametrize("factor", [0.5, 1.0, 2.0, 4.0])
def test_the_samples_of_a_step_are_counted_at_the_model(factor: float) -> None:
    setting = Setting(batch=factor)
    with training(batch=factor) as running, watched(running) as evidence:
        running.step()
    assert evidence["step_samples"] == factor * BATCH
    assert CHECKS["batch"](setting, evidence) == (
        True,
        f"{int(factor * BATCH)} samples a step and device, {int(factor * BATCH)} wanted",
    )
    other = CHECKS["batch"](Setting(batch=8.0), evidence)
    assert other is not None
    assert not other[0]


def test_a_larger_rate_is_warmed_up_from_the_usual_one() -> None:
    warm = Setting(learning_rate=4.0, lr_warm_up_steps=3)
    assert [rate_at(warm, steps) for steps in range(5)] == [1, 2, 3, 4, 4]
    assert rate_at(Setting(learning_rate=0.5), 0) == 0.5
    assert rate_at(Setting(), 7) == 1


@pytest.mark.parametrize(
    "knobs",
    [
        {},
        {"learning_rate": 0.5},
        {"learning_rate": 4.0},
        {"learning_rate": 4.0, "lr_warm_up_steps": 3},
    ],
)
def test_the_optimizer_trains_at_the_rate_that_the_setting_names(knobs: dict[str, Any]) -> None:
    setting = Setting(**knobs)
    with training(**knobs) as running:
        for steps in range(5):
            seen = relative_rate(running.optimizer, running.scale)
            assert seen == pytest.approx(rate_at(setting, steps))
            evidence = {"learning_rate": seen, "steps": steps}
            finding = CHECKS["learning_rate"](setting, evidence)
            assert finding is not None
            assert finding[0]
            running.step()
    lying = CHECKS["learning_rate"](Setting(learning_rate=3.0), evidence)
    assert lying is not None
    assert not lying[0]


def test_rates_that_suit_a_batch() -> None:
    assert [rate.name for rate in rates(0.5)] == ["lr_fixed", "lr_linear"]
    fixed, linear, warm = (rate.apply(Setting(batch=4.0)) for rate in rates(4.0))
    assert fixed == Setting(batch=4.0)
    assert linear.learning_rate == warm.learning_rate == 4.0
    assert (linear.lr_warm_up_steps, warm.lr_warm_up_steps) == (0, WARM_UP_STEPS)


# Training to a loss


def test_smoothing_forgets_by_samples_not_by_steps() -> None:
    fine, coarse = Smoothed(window=16), Smoothed(window=16)
    for step in range(40):
        fine.add(40 - step, 4)
        if step % 4 == 3:
            coarse.add(40 - step + 1.5, 16)  # the mean of the same four
    assert coarse.value == pytest.approx(fine.value, abs=1.0)
    steady = Smoothed(window=16)
    for _ in range(5):
        steady.add(2.5, 4)
    assert steady.value == pytest.approx(2.5)


def test_a_few_lucky_samples_reach_nothing() -> None:
    smoothed = Smoothed(window=16)
    smoothed.add(0.0, 8)
    assert not smoothed.value <= 1.0
    smoothed.add(0.0, 8)
    assert smoothed.value <= 1.0


def test_training_ends_at_the_target_and_says_after_what() -> None:
    seconds = iter([10.0, 12.5])
    with training(learning_rate=2.0) as running:
        run = train_to(
            running, target=0.9, window=8, limit_samples=None, clock=lambda: next(seconds)
        )
    assert run["reached"]
    assert run["loss"] <= 0.9 < run["first_loss"]
    assert run["samples"] == run["steps"] * BATCH
    assert run["seconds"] == 2.5


def test_training_gives_up_after_so_many_samples() -> None:
    with training() as running:
        run = train_to(running, target=0.0, window=8, limit_samples=10)
    assert (run["reached"], run["steps"], run["samples"]) == (False, 3, 12)


def test_training_gives_up_when_the_loss_is_no_number() -> None:
    with training(learning_rate=1e30) as running:
        run = train_to(running, target=0.0, window=8, limit_samples=None)
    assert not run["reached"]
    assert run["loss"] is None
