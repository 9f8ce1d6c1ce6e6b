"""How close cells come to their ceilings."""

import pytest

from results.ceilings import ceilings, reached
from tests.results.examples import record
from tests.results.test_shares import ATTRIBUTED, row_of


def test_nothing_is_said_where_nothing_was_looked_into() -> None:
    assert ceilings([record()]) is None


def test_the_throughput_is_held_against_the_lower_ceiling() -> None:
    row = row_of(ceilings([record(attribution=ATTRIBUTED, samples_per_s=120.0)]))
    assert row["loader alone"] == "100/s"
    assert row["compute alone"] == "400/s"
    assert row["both"] == "80.0/s", "of the ceilings' own minute, not of the timed blocks'"
    assert row["reached"] == "80%"
    lacking = {**ATTRIBUTED, "loader_samples_per_s": None}
    assert reached(record(attribution=lacking)) is None


def test_a_record_of_before_is_held_against_its_timed_blocks() -> None:
    before = {name: value for name, value in ATTRIBUTED.items() if name != "samples_per_s"}
    assert reached(record(attribution=before, samples_per_s=50.0)) == pytest.approx(0.5)


def test_a_measured_ceiling_is_named_so_and_is_no_mfu() -> None:
    found = ceilings([record(attribution=ATTRIBUTED | {"of_matmul_ceiling": 0.4})])
    row = row_of(found)
    assert row["of matmul ceiling"] == "40%"
    assert "MFU" not in row
    assert found is not None
    assert "measured, as no peak of the device is known" in found.lines[0]


def test_mfu_has_a_column_as_soon_as_one_cell_has_one() -> None:
    known = record("amp_bf16", attribution=ATTRIBUTED, mfu=0.37)
    unknown = record("workers2", attribution=ATTRIBUTED)
    found = ceilings([known, unknown])
    assert row_of(found)["MFU"] == "37%"
    assert row_of(found, 1)["MFU"] == "–"
