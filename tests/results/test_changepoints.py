"""Levels that change are found where they change; noise alone has one level."""

import math
from typing import Any

import numpy as np
import pytest

from results.changepoints import change_points

NOISE = 0.013  # SD of a run's log speed-up from 4 starts on two shared cores


def steady(random: np.random.Generator, runs: int, *, heavy: bool = False) -> Any:
    if heavy:
        return random.standard_t(3, runs) * NOISE / math.sqrt(3)
    return random.normal(0, NOISE, runs)


@pytest.mark.parametrize("heavy", [False, True])
@pytest.mark.parametrize(("runs", "histories"), [(10, 300), (60, 100), (250, 40)])
def test_a_steady_history_has_a_change_in_fewer_than_1_of_20(
    runs: int, histories: int, heavy: bool
) -> None:
    random = np.random.default_rng(runs)
    false = [bool(change_points(steady(random, runs, heavy=heavy))) for _ in range(histories)]
    assert sum(false) / histories <= 0.05


@pytest.mark.parametrize(
    ("runs", "last", "size"), [(20, 5, 0.05), (60, 3, 0.10), (60, 30, 0.03), (300, 5, 0.05)]
)
def test_a_new_level_is_found_within_a_run_of_where_it_begins(
    runs: int, last: int, size: float
) -> None:
    random = np.random.default_rng(1)
    found = 0
    for _ in range(40):
        values = steady(random, runs)
        values[-last:] += math.log1p(-size)
        found += any(abs(place - (runs - last)) <= 1 for place in change_points(values))
    assert found >= 32


def test_a_regression_and_its_repair_are_two_changes() -> None:
    values = steady(np.random.default_rng(2), 120)
    values[50:80] -= 0.1
    assert change_points(values) == pytest.approx([50, 80], abs=1)


def test_outliers_are_no_levels() -> None:
    values = steady(np.random.default_rng(3), 100)
    values[[20, 21, 60, 90]] += [-0.5, 0.4, 0.5, -0.5]
    assert change_points(values) == []


def test_a_step_without_noise_is_found_exactly() -> None:
    assert change_points([0.0] * 10 + [0.01] * 10) == [10]
    assert change_points([0.3] * 50) == []


@pytest.mark.parametrize("runs", [0, 1, 5])
def test_too_few_runs_tell_nothing(runs: int) -> None:
    assert change_points([0.0, 1.0, 0.0, 1.0, 5.0][:runs]) == []


def test_where_zero_lies_does_not_matter() -> None:
    values = steady(np.random.default_rng(4), 60)
    values[30:] -= 0.06
    assert change_points(values) == change_points(values + 1e6)


def test_refuses_what_is_not_finite() -> None:
    with pytest.raises(ValueError, match="finite"):
        change_points([0.0, math.nan])
