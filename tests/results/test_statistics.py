"""The interval covers what it claims to cover, and a verdict says no more than the interval."""

import math

import numpy as np
import pytest
from scipy import stats

from results.record import VERDICTS
from results.statistics import Estimate, estimate, step_quantiles, verdict


def between(low: float | None, high: float | None) -> Estimate:
    return Estimate(speedup=1.0, low=low, high=high, detectable=None)


def test_known_values() -> None:
    # log ratios 0, 0.02, 0.04: mean 0.02, SD 0.02, t(0.975; 2) = 4.302653 from printed tables
    half = 4.302653 * 0.02 / math.sqrt(3)
    found = estimate([0.0, 0.02, 0.04])
    assert found.speedup == pytest.approx(math.exp(0.02))
    assert found.low == pytest.approx(math.exp(0.02 - half), rel=1e-6)
    assert found.high == pytest.approx(math.exp(0.02 + half), rel=1e-6)
    assert found.detectable == pytest.approx(math.exp(half) - 1, rel=1e-6)


def test_agrees_with_scipys_interval_at_another_confidence() -> None:
    ratios = [0.1, 0.13, 0.08, 0.11, 0.14]
    expected = stats.t.interval(0.8, 4, loc=np.mean(ratios), scale=stats.sem(ratios))
    found = estimate(ratios, confidence=0.8)
    assert (found.low, found.high) == pytest.approx(np.exp(expected))


def test_speedup_is_the_geometric_mean_so_twice_and_half_cancel() -> None:
    assert estimate([math.log(2), math.log(0.5)]).speedup == pytest.approx(1)


def test_swapping_the_arms_inverts_everything() -> None:
    ratios = [0.21, 0.17, 0.25]
    forth, back = estimate(ratios), estimate([-ratio for ratio in ratios])
    assert forth.low is not None
    assert back.high == pytest.approx(1 / forth.low)


@pytest.mark.parametrize("starts", [2, 4, 8])
def test_interval_of_simulated_controls_holds_the_truth_as_often_as_it_says(starts: int) -> None:
    # 3,000 A/A runs with the spread between starts that was measured on two shared cores. The
    # interval is linear in the mean and the spread, so one estimate a shape checks the vectorised
    # formula against the function, and the formula then runs fast.
    runs = np.random.default_rng(7).normal(0, 0.023, size=(3000, starts))
    half = stats.t.ppf(0.975, starts - 1) * runs.std(axis=1, ddof=1) / math.sqrt(starts)
    for run, expected in zip(runs[:20], half[:20], strict=True):
        assert math.log(1 + (estimate(run).detectable or 0)) == pytest.approx(expected)
    covered = np.mean(np.abs(runs.mean(axis=1)) <= half)
    assert covered == pytest.approx(0.95, abs=4 * math.sqrt(0.95 * 0.05 / 3000))


def test_controls_are_called_different_no_more_often_than_confidence_allows() -> None:
    runs = np.random.default_rng(11).normal(0, 0.023, size=(1000, 4))
    said = [verdict(estimate(run)) for run in runs]
    assert said.count("faster") + said.count("slower") <= 0.05 * 1000 + 4 * math.sqrt(1000 * 0.0475)


def test_a_real_gain_of_a_quarter_is_found_with_four_starts() -> None:
    runs = np.random.default_rng(13).normal(math.log(1.25), 0.023, size=(200, 4))
    assert np.mean([verdict(estimate(run)) == "faster" for run in runs]) > 0.95


def test_one_start_gives_no_interval_and_no_verdict() -> None:
    found = estimate([0.3])
    assert found == Estimate(speedup=math.exp(0.3), low=None, high=None, detectable=None)
    assert verdict(found) == "unclear"


def test_starts_without_any_spread_give_a_point() -> None:
    found = estimate([0.0, 0.0])
    assert (found.low, found.high, found.detectable) == (1, 1, 0)


def test_an_interval_beyond_all_numbers_is_unbounded_rather_than_infinite() -> None:
    found = estimate([-300.0, 300.0])
    assert found.high is None
    assert found.detectable is None
    assert found.low == 0


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (1.05, 1.2, "faster"),
        (0.7, 0.9, "slower"),
        (0.985, 1.015, "same"),
        (0.95, 1.08, "unclear"),
        (1.005, 1.015, "same"),  # real, and too small to matter
        (1.005, 1.03, "faster"),
        (0.98, 1.02, "same"),
        (None, 0.1, "slower"),  # known only to be at most this
        (1.5, None, "faster"),
        (None, None, "unclear"),
    ],
)
def test_verdict_follows_from_the_interval(
    low: float | None, high: float | None, expected: str
) -> None:
    assert verdict(between(low, high)) == expected
    assert expected in VERDICTS


def test_margin_is_the_readers_choice() -> None:
    assert verdict(between(0.96, 1.03), margin=0.05) == "same"
    assert verdict(between(1.001, 1.002), margin=0) == "faster"
    with pytest.raises(ValueError, match="negative"):
        verdict(between(1, 1), margin=-0.1)


@pytest.mark.parametrize("ratios", [[], [0.1, float("nan")], [float("inf")]])
def test_refuses_ratios_that_are_missing_or_not_finite(ratios: list[float]) -> None:
    with pytest.raises(ValueError, match="log ratio"):
        estimate(ratios)


@pytest.mark.parametrize("confidence", [0, 1, 95])
def test_refuses_a_confidence_outside_zero_to_one(confidence: float) -> None:
    with pytest.raises(ValueError, match="confidence"):
        estimate([0.1, 0.2], confidence=confidence)


def test_quantiles_of_known_times() -> None:
    found = step_quantiles([step / 100 for step in range(101)])
    assert found == pytest.approx({"median": 0.5, "p10": 0.1, "p90": 0.9, "p99": 0.99})


def test_one_step_is_all_its_quantiles() -> None:
    assert set(step_quantiles([0.2]).values()) == {0.2}


@pytest.mark.parametrize("seconds", [[], [0.1, float("nan")], [-0.1]])
def test_refuses_times_that_cannot_be(seconds: list[float]) -> None:
    with pytest.raises(ValueError, match="step time"):
        step_quantiles(seconds)
