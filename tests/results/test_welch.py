"""Two runs' starts compared as scipy compares them, and never surer than the starts allow."""

import math

import numpy as np
import pytest
from scipy import stats

from results.welch import p_fallen, ratio

BASE = [0.21, 0.17, 0.25, 0.2]
NEW = [0.02, 0.11, 0.05]


def test_interval_and_test_are_scipys() -> None:
    found = ratio(BASE, NEW)
    expected = stats.ttest_ind(NEW, BASE, equal_var=False)
    interval = expected.confidence_interval(0.95)
    assert found.value == pytest.approx(math.exp(np.mean(NEW) - np.mean(BASE)))
    assert (found.low, found.high) == pytest.approx((math.exp(interval[0]), math.exp(interval[1])))
    less = stats.ttest_ind(NEW, BASE, equal_var=False, alternative="less")
    assert p_fallen(found, 0.0) == pytest.approx(less.pvalue)


def test_a_margin_is_forgiven() -> None:
    shifted = [value + math.log(0.95) for value in BASE]
    at_margin = p_fallen(ratio(BASE, shifted), 0.05)
    assert at_margin == pytest.approx(0.5)


def test_one_start_gives_a_ratio_alone() -> None:
    found = ratio([0.1], [0.2, 0.3])
    assert (found.low, found.high, p_fallen(found, 0.05)) == (None, None, None)
    assert found.value == pytest.approx(math.exp(0.15))


def test_runs_without_spread_give_a_point() -> None:
    found = ratio([0.1, 0.1], [0.0, 0.0])
    assert found.low == found.high == found.value
    assert p_fallen(found, 0.05) == 0.0
    assert p_fallen(found, 0.5) == 1.0


@pytest.mark.parametrize("values", [[], [math.nan, 0.1]])
def test_refuses_what_is_no_sample(values: list[float]) -> None:
    with pytest.raises(ValueError, match="finite"):
        ratio(BASE, values)


def test_intervals_of_simulated_pairs_of_runs_hold_the_truth() -> None:
    random = np.random.default_rng(4)
    runs = zip(random.normal(0, 0.02, (2000, 4)), random.normal(0, 0.04, (2000, 6)), strict=True)
    covered = 0
    for base, new in runs:
        found = ratio(base, new)
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= 1 <= found.high
    assert covered / 2000 == pytest.approx(0.95, abs=0.02)
