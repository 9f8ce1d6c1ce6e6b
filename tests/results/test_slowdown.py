"""The one-sided test keeps its level, and its stated power is the power it has."""

import math

import numpy as np
import pytest
from scipy import stats

from results.slowdown import (
    detection,
    p_different,
    p_faster,
    p_slower,
    smallest_detectable,
)
from tests.results.simulated_gate import SD, normal, p_below, regressed


def test_p_values_are_scipys() -> None:
    ratios = [-0.05, -0.09, -0.06, -0.11]
    expected = stats.ttest_1samp(ratios, math.log(0.97), alternative="less").pvalue
    assert p_slower(ratios, 0.03) == pytest.approx(expected)
    assert p_different(ratios) == pytest.approx(stats.ttest_1samp(ratios, 0).pvalue)


def test_faster_mirrors_slower() -> None:
    ratios = [0.05, 0.09, 0.06]
    assert p_faster(ratios, 0.0) == pytest.approx(p_slower([-ratio for ratio in ratios], 0.0))
    assert p_faster(ratios, 0.03) == pytest.approx(
        stats.ttest_1samp(ratios, math.log(1.03), alternative="greater").pvalue
    )


def test_one_start_proves_nothing() -> None:
    assert p_slower([-1.0], 0.03) is None
    assert p_different([]) is None


@pytest.mark.parametrize(("ratio", "expected"), [(-0.1, 0.0), (0.0, 1.0), (math.log1p(-0.03), 0.5)])
def test_starts_without_spread_are_on_one_side_of_the_margin(ratio: float, expected: float) -> None:
    assert p_slower([ratio, ratio], 0.03) == expected


def test_refuses_what_cannot_be() -> None:
    with pytest.raises(ValueError, match="finite"):
        p_slower([0.0, math.nan], 0.03)
    with pytest.raises(ValueError, match="margin"):
        p_slower([0.0, 0.0], 3)
    with pytest.raises(ValueError, match="at least 2"):
        detection(0.1, 1, SD, margin=0.03)
    with pytest.raises(ValueError, match="negative"):
        detection(0.1, 4, -SD, margin=0.03)


@pytest.mark.parametrize("starts", [4, 8])
@pytest.mark.parametrize("slowdown", [0.05, 0.10])
def test_stated_power_is_what_10_000_simulated_runs_find(starts: int, slowdown: float) -> None:
    random = np.random.default_rng(starts)
    shape = (10_000, 1, starts)
    screening, confirmation = (math.log1p(-slowdown) + normal(random, shape) for _ in range(2))
    found = regressed(screening, confirmation, 0.03, 0.2, 0.05).mean()
    assert found == pytest.approx(detection(slowdown, starts, SD, margin=0.03), abs=0.02)


def test_power_of_one_stage_is_the_noncentral_t() -> None:
    shift = (math.log(0.97) - math.log(0.94)) / (SD / math.sqrt(6))
    expected = stats.nct.cdf(stats.t.ppf(0.05, 5), 5, -shift)
    found = detection(0.06, 6, SD, margin=0.03, screen_error=1 - 1e-12)
    assert found == pytest.approx(expected, abs=2e-3)


def test_smallest_detectable_has_the_power_it_says() -> None:
    found = smallest_detectable(4, SD, margin=0.03, power=0.8, cells=5)
    assert found is not None
    assert detection(found, 4, SD, margin=0.03, cells=5) == pytest.approx(0.8, abs=1e-3)


def test_more_starts_and_less_noise_show_smaller_slowdowns() -> None:
    by_starts = [smallest_detectable(starts, SD, margin=0.03) or 1 for starts in (2, 4, 8, 16)]
    by_noise = [smallest_detectable(4, sd, margin=0.03) or 1 for sd in (0.05, 0.02, 0.01, 0.0)]
    assert by_starts == sorted(by_starts, reverse=True)
    assert by_noise == sorted(by_noise, reverse=True)
    assert by_noise[-1] == 0.03
    assert smallest_detectable(4, 3.0, margin=0.03) is None


def test_the_test_keeps_its_level_at_the_margin() -> None:
    ratios = math.log1p(-0.03) + normal(np.random.default_rng(5), (10_000, 4))
    assert np.mean(p_below(ratios, math.log1p(-0.03)) <= 0.05) == pytest.approx(0.05, abs=0.009)
