"""What a diagnosis knows of the suite's knobs, held against the setting that has them."""

from dataclasses import fields

import pytest

from benchmarks.setting import Setting
from results.diagnosis.untried import TURNS

DEFAULTS = {field.name: field.default for field in fields(Setting)}


@pytest.mark.parametrize("technique", TURNS)
def test_advice_turns_a_knob_that_there_is_away_from_its_default(technique: str) -> None:
    knob, positions = TURNS[technique]
    assert positions[0] == DEFAULTS[knob]
