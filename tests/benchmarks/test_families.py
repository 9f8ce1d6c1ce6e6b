"""Every technique of every family becomes a cell, and says what it means."""

from pathlib import Path

import pytest

from benchmarks.families import family
from benchmarks.hardware import Glance
from benchmarks.matrix import Scope
from benchmarks.setting import Setting
from benchmarks.techniques import FAMILIES, Technique
from workloads import CATALOG

CASES = Path(__file__).parent.parent.parent / "benchmarks"
EVERY = [technique for techniques in FAMILIES.values() for technique in techniques(4)]


@pytest.mark.parametrize("technique", EVERY, ids=lambda technique: technique.name)
def test_a_technique_changes_what_it_names_and_can_prove_it(technique: Technique) -> None:
    baseline = technique.baseline("cpu")
    assert technique.changes(baseline)
    assert technique.apply(technique.apply(baseline)) == technique.apply(baseline)
    assert technique.checks
    assert technique.why
    assert technique.api


def test_no_two_techniques_share_a_name_on_the_same_ground() -> None:
    names = [tuple(t.name for t in (*technique.on, technique)) for technique in EVERY]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_is_a_file_of_cases(name: str) -> None:
    assert f'family("{name}")' in (CASES / f"test_{name}.py").read_text()


@pytest.mark.parametrize("name", FAMILIES)
def test_its_cells_are_every_technique_with_every_workload(name: str) -> None:
    scope = Scope(tuple(CATALOG), ("cpu",), Glance(usable_cores=2, devices={"cpu": 1}, reasons={}))
    cells = family(name)(scope)
    assert len({cell.id for cell in cells}) == len(cells)
    assert len(cells) == len(CATALOG) * len(FAMILIES[name](2))
    assert all(cell.setting != cell.baseline for cell in cells)
    assert all(Setting.from_dict(cell.setting.to_dict()) == cell.setting for cell in cells)
