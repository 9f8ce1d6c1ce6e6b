"""Holm's procedure, against values worked out by hand."""

import numpy as np
import pytest

from results.holm import adjusted


def test_by_hand() -> None:
    found = adjusted({"a": 0.04, "b": 0.01, "c": 0.03, "d": 0.005})
    assert list(found) == ["a", "b", "c", "d"]
    assert found == pytest.approx({"d": 0.02, "b": 0.03, "c": 0.06, "a": 0.06})


def test_one_test_needs_no_correction_and_none_is_above_one() -> None:
    assert adjusted({"a": 0.04}) == {"a": 0.04}
    assert adjusted({}) == {}
    assert max(adjusted(dict.fromkeys("abc", 0.6)).values()) == 1


def test_any_true_hypothesis_of_20_is_rejected_in_at_most_5_percent() -> None:
    random = np.random.default_rng(2)
    runs = [min(adjusted(dict(enumerate(p))).values()) for p in random.uniform(size=(4000, 20))]  # type: ignore[arg-type]
    assert np.mean(np.array(runs) <= 0.05) == pytest.approx(0.05, abs=0.012)
