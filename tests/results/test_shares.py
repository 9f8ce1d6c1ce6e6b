"""Where a step's time goes: what the list says of the numbers of a record."""

from typing import Any

from results.listing import Listing
from results.shares import shares
from tests.results.examples import record

ATTRIBUTED: dict[str, Any] = {
    "data_s": 0.06,
    "copy_s": 0.0,
    "forward_s": 0.01,
    "backward_s": 0.02,
    "optimizer_s": 0.01,
    "communication_s": 0.0,
    "other_s": 0.0,
    "step_s": 0.1,
    "steps": 10,
    "samples_per_s": 80.0,
    "loader_samples_per_s": 100.0,
    "compute_samples_per_s": 400.0,
}


def row_of(found: Listing | None, place: int = 0) -> dict[str, str]:
    assert found is not None
    heads = [heading.text for heading in found.headings]
    return dict(zip(heads, found.rows[place], strict=True))


def test_nothing_is_said_where_nothing_was_looked_into() -> None:
    assert shares([record()]) is None


def test_shares_are_of_the_step_and_parts_that_take_none_have_no_column() -> None:
    row = row_of(shares([record("control", attribution=ATTRIBUTED)]))
    assert row["data"] == "60%"
    assert row["backward"] == "20%"
    assert not {"copy", "exposed comm.", "other"} & set(row)


def test_ranks_have_a_column_for_their_exchange_even_where_it_is_hidden() -> None:
    ranks = {"imbalance": 1.25, "slowest_rank": 3}
    found = shares([record("ddp4", attribution=ATTRIBUTED | ranks)])
    assert row_of(found)["exposed comm."] == "0%"
    assert found is not None
    assert "ddp4: rank 3 is the slowest, its own work takes 25.0% longer" in found.lines[1]


def test_dataparallels_moves_are_told_apart() -> None:
    moves = {"communication_s": 0.03, "scatter_s": 0.01, "replicate_s": 0.015, "gather_s": 0.005}
    found = shares([record("dp", attribution=ATTRIBUTED | moves)])
    assert row_of(found)["exposed comm."] == "30%"
    assert found is not None
    assert "scatter 10%, replicate 15%, gather 5% of a step" in found.lines[1]


def test_what_is_unknown_is_no_zero_and_has_its_reason() -> None:
    unknown = {"communication_s": None, "communication_reason": "its ranks never part"}
    found = shares([record("fsdp2", attribution=ATTRIBUTED | unknown)])
    assert row_of(found)["exposed comm."] == "–"
    assert found is not None
    assert "unknown, its ranks never part" in found.lines[1]
