"""Words for one record's numbers."""

import pytest

from results import wording
from tests.results.examples import record


@pytest.mark.parametrize(
    ("detectable", "said"),
    [(None, "unclear"), (0.012, "unclear ±1.2%"), (1.0, "unclear ±100%"), (2361, "unclear >±100%")],
)
def test_an_unclear_row_says_what_it_could_have_shown_if_that_is_a_figure(
    detectable: float | None, said: str
) -> None:
    unclear = record(verdict="unclear", detectable=detectable, starts=2)
    assert wording.verdict(unclear) == said


def test_one_start_has_no_spread_to_say_anything_from() -> None:
    assert wording.verdict(record(verdict="unclear", detectable=None, starts=1)) == (
        "unclear, 1 start"
    )
