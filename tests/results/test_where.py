"""Where a step's time goes: what the list says of the numbers of a record."""

from typing import Any

import pytest

from results.where import reached, where, where_markdown, where_terminal
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
    "loader_samples_per_s": 100.0,
    "compute_samples_per_s": 400.0,
}


def test_nothing_is_said_where_nothing_was_looked_into() -> None:
    assert where([record()]) is None
    assert where_markdown([record()]) == ""
    assert where_terminal([record()], 100) == ""


def test_shares_are_of_the_step_and_parts_that_take_none_have_no_column() -> None:
    found = where([record("control", attribution=ATTRIBUTED, samples_per_s=80.0)])
    assert found is not None
    heads = [heading.text for heading in found.headings]
    row = dict(zip(heads, found.rows[0], strict=True))
    assert row["data"] == "60%"
    assert row["backward"] == "20%"
    assert not {"copy", "communication", "other", "MFU"} & set(heads)


def test_the_throughput_is_held_against_the_lower_ceiling() -> None:
    looked = record(attribution=ATTRIBUTED, samples_per_s=80.0)
    assert reached(looked) == pytest.approx(0.8)
    lacking = {**ATTRIBUTED, "loader_samples_per_s": None}
    assert reached(record(attribution=lacking, samples_per_s=80.0)) is None


def test_a_slow_rank_and_a_measured_ceiling_are_named() -> None:
    more = {
        "imbalance": 1.25,
        "slowest_rank": 3,
        "of_matmul_ceiling": 0.4,
        "matmul_flops_per_s": 5e10,
    }
    found = where([record("ddp4", attribution=ATTRIBUTED | more, samples_per_s=80.0)])
    assert found is not None
    said = " ".join(found.lines)
    assert "rank 3 is the slowest, 25.0% above" in said
    assert "40% of the measured matmul ceiling, 50 GFLOP/s" in said


def test_mfu_has_a_column_as_soon_as_one_cell_has_one() -> None:
    known = record("amp_bf16", attribution=ATTRIBUTED, samples_per_s=80.0, mfu=0.37)
    unknown = record("workers2", attribution=ATTRIBUTED, samples_per_s=80.0)
    found = where([known, unknown])
    assert found is not None
    assert [row[-1] for row in found.rows] == ["37%", "–"]
