"""A column's numbers share one unit and as many decimals as it takes to compare them."""

import pytest

from results.units import BYTES, PLAIN, SECONDS, choose, decimals, duration, family, number


@pytest.mark.parametrize(
    ("values", "symbol"),
    [
        ([0.124, 0.1, 0.9], "ms"),
        ([1.2, 3.4], "s"),
        ([0.5, 0.55, 75.0], "ms"),  # one hopeless candidate does not hide the others
        ([2e-5], "µs"),
        ([1e-9], "µs"),
        ([], "s"),
    ],
)
def test_unit_fits_the_middle_value(values: list[float], symbol: str) -> None:
    assert choose(values, SECONDS).symbol == symbol


def test_memory_is_counted_in_powers_of_1024() -> None:
    assert choose([2**30], BYTES).symbol == "GiB"
    assert choose([2**30 - 1], BYTES).symbol == "MiB"


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([64.3, 86.1], 1),
        ([152_345.6], 0),
        ([0.11, 86.0], 2),
        ([1.234], 2),
        ([0.0001], 3),
        ([0.0], 0),
        ([], 0),
    ],
)
def test_decimals_leave_the_digits_that_tell_values_apart(
    values: list[float], expected: int
) -> None:
    assert decimals(values) == expected


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("step_s.median", ("step.median", SECONDS)),
        ("peak_memory_bytes", ("peak_memory", BYTES)),
        ("samples_per_s", ("samples", PLAIN)),
        ("speedup", ("speedup", PLAIN)),
    ],
)
def test_a_fields_name_says_its_unit(field: str, expected: object) -> None:
    assert family(field) == expected


def test_numbers_have_thousands_separators_and_a_real_minus() -> None:
    assert number(-12345.678, 1) == "−12,345.7"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (4.25, "4.2 s"),
        (45.2, "45 s"),
        (59.9, "1 min 0 s"),
        (450, "7 min 30 s"),
        (7500, "2 h 5 min"),
    ],
)
def test_durations_are_for_people(seconds: float, words: str) -> None:
    assert duration(seconds) == words
