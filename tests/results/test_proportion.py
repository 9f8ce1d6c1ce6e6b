"""Wilson's interval, against published values."""

import pytest

from results.proportion import wilson


def test_textbook_value() -> None:
    # 81 of 263: Newcombe, "Two-sided confidence intervals for the single proportion", 1998, table I
    assert wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)


def test_none_of_thirty_is_not_zero() -> None:
    low, high = wilson(0, 30)
    assert low == 0
    assert high == pytest.approx(0.1135, abs=5e-4)


def test_refuses_more_successes_than_trials() -> None:
    with pytest.raises(ValueError, match="k"):
        wilson(3, 2)
