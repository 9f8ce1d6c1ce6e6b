"""What a diagnosis knows of the suite's knobs and techniques, held against those there are."""

from dataclasses import fields

import pytest

from benchmarks.setting import Setting
from benchmarks.techniques import find
from results.diagnosis.untried import TURNS

DEFAULTS = {field.name: field.default for field in fields(Setting)}


@pytest.mark.parametrize("technique", TURNS)
def test_advice_turns_a_knob_that_there_is_away_from_its_default(technique: str) -> None:
    knob, positions = TURNS[technique]
    assert positions[0] == DEFAULTS[knob]
    found = find(technique, cores=4)
    assert found is not None
    assert knob in found.change


@pytest.mark.parametrize("name", ["workers4", "ddp2", "threads2", "dp", "amp_fp16", "fsdp2"])
def test_techniques_that_are_made_for_a_number_are_found_as_well(name: str) -> None:
    found = find(name, cores=4)
    assert found is not None
    assert found.name == name


def test_no_technique_goes_by_a_name_that_there_is_not() -> None:
    assert find("workers", cores=4) is None
    assert find("is_technique", cores=4) is None
