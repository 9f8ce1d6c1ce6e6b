"""A recipe through a suite: which cells it asks for, and the script of what it found."""

import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

import pytest

from benchmarks import options
from benchmarks.cell import Cell
from benchmarks.options import Options
from benchmarks.recipe import run
from benchmarks.recipe.run import cells_for, find_recipe, script_name, script_of, source_text
from benchmarks.recipe.script import write
from benchmarks.setting import Setting
from benchmarks.suite import Suite
from results.recipe import Recipe
from results.record import Block, Record
from tests.benchmarks.machines import at_a_glance, hardware
from tests.results.examples import compared

BLOCK = Block(start=0, pair=0, arm="candidate", steps=4, samples=32, seconds=1.0)


def chosen(**words: str) -> Options:
    return options.read(lambda name: words.get(name.removeprefix("--")), Path("runs"))


@dataclass
class PretendedSuite:
    """Where two loader workers train 1.5 times as fast and nothing else does anything."""

    options: Options
    asked: list[tuple[str, Cell, int | None]] = field(default_factory=list)
    hardware = hardware(cores=4)

    def scale_of(self, _: Cell) -> str:
        return "tiny"

    def elapsed_s(self) -> float:
        return float(len(self.asked))

    def measure(self, case: str, cell: Cell, starts: int | None) -> Record:
        self.asked.append((case, cell, starts))
        gain = 1.5 if cell.setting.num_workers and not cell.baseline.num_workers else 0.95
        return compared(
            cell.technique,
            [gain * each for each in (0.99, 1.0, 1.01, 1.0)],
            cell=case,
            setting=cell.setting.to_dict(),
            baseline=cell.baseline.to_dict(),
            blocks=[BLOCK],
        )


def found() -> tuple[PretendedSuite, Recipe]:
    suite = PretendedSuite(chosen())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "measure_cell", PretendedSuite.measure)
        recipe = find_recipe(
            cast(Suite, suite), "resnet18", "cpu", at_a_glance(cores=4), budget_s=10_000.0
        )
    return suite, recipe


def test_every_trial_is_a_cell_of_its_own_and_screening_takes_the_fewest_starts() -> None:
    suite, _ = found()
    cases = [case for case, _, _ in suite.asked]
    assert len(cases) == len(set(cases))
    usual = suite.options.plan_on("cpu").starts
    assert {starts for case, _, starts in suite.asked if "-screen-" in case} == {2}
    assert {starts for case, _, starts in suite.asked if "-screen-" not in case} == {usual}


def test_the_answer_is_measured_against_the_plain_setting_last() -> None:
    suite, recipe = found()
    case, cell, _ = suite.asked[-1]
    assert "-total-" in case
    assert cell.baseline == Setting()
    assert cell.setting == Setting(num_workers=2)
    assert recipe.name == "workers2"
    assert recipe.total is not None
    assert recipe.total.cell == case


def test_what_is_not_in_the_recipe_has_a_reason() -> None:
    _, recipe = found()
    reasons = {each.name: each.reason for each in recipe.left}
    assert "0.95×" in reasons["amp_bf16"]
    assert "workers2" not in reasons


def test_the_script_has_the_recipe_and_what_the_record_counted() -> None:
    suite, recipe = found()
    assert recipe.total is not None
    script = script_of(suite.options, "resnet18", recipe.total, 4, "recipe_resnet18.py")
    assert script is not None
    assert (script.units_per_step, script.threads) == (8, 4)
    text = write(script)
    assert "num_workers=2," in text
    assert re.search(r"^    workload = load\('resnet18'\)$", text, re.MULTILINE)
    unmeasured = replace(recipe.total, blocks=[])
    assert script_of(suite.options, "resnet18", unmeasured, 4, "x.py") is None


def test_data_comes_from_where_the_run_took_it(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("words")
    assert source_text(chosen()).startswith("Path.home()")
    given = source_text(chosen(cache=str(tmp_path), text=str(tmp_path / "text")))
    assert given == f"Path({str(tmp_path)!r}), text=Path({str(tmp_path / 'text')!r})"


def test_data_that_a_technique_wants_is_made_before_anything_is_measured() -> None:
    images = {cell.setting.images for cell in cells_for("resnet18", "cpu", at_a_glance())}
    assert images == {"as_stored", "resized"}


def test_a_script_is_named_after_its_workload() -> None:
    assert script_name("gpt2") == "recipe_gpt2.py"
    assert script_name("my net/../x") == "recipe_my_net_x.py"
