"""Advice from single-technique cells: each knob's best, and what nobody tried together."""

import json
from pathlib import Path

import pytest

from results.__main__ import main
from results.recommend import Suggestion, suggestions
from results.recommend_table import as_listings, headline
from results.record import Record
from results.store import RunFolder
from tests.results.examples import PLAIN, compared, laptop_run, record

FASTER, FASTEST, SLOWER = [1.2, 1.21, 1.22, 1.2], [1.4, 1.41, 1.42, 1.4], [0.8, 0.81, 0.8, 0.82]


def cell(name: str, ratios: list[float], **knobs: object) -> Record:
    return compared(name, ratios, cell=f"test[{name}]", setting=PLAIN | knobs)


def names(records: tuple[Record, ...]) -> list[str]:
    return [each.technique for each in records]


def only(records: list[Record]) -> Suggestion:
    (found,) = suggestions(records)
    return found


def test_takes_what_was_shown_to_pay_alone_the_fastest_first() -> None:
    found = only(
        [
            cell("workers2", FASTER, num_workers=2),
            cell("fused", FASTEST, optimizer="fused"),
            cell("amp_bf16", SLOWER, precision="amp_bf16"),
        ]
    )
    assert names(found.take) == ["fused", "workers2"]
    assert names(found.leave) == ["amp_bf16"]
    assert headline(found) == "fused + workers2 (untested in combination)"


def test_of_two_values_of_a_knob_only_the_faster_one() -> None:
    found = only(
        [
            cell("workers2", FASTER, num_workers=2),
            cell("workers4", FASTEST, num_workers=4),
        ]
    )
    assert names(found.take) == ["workers4"]
    assert names(found.instead) == ["workers2"]
    assert headline(found) == "workers4"


def test_combinations_and_controls_are_no_techniques() -> None:
    found = only(laptop_run())
    assert names(found.take) == ["workers2"]
    everything = (*found.take, *found.instead, *found.leave, *found.untried)
    assert not {"control", "workers2 + amp_bf16"} & set(names(everything))
    assert "dp" in names(found.untried)


def test_what_pays_on_other_ground_only_is_not_taken() -> None:
    ground = PLAIN | {"num_workers": 2}
    on_workers = compared(
        "prefetch4 on workers2",
        FASTER,
        baseline=ground,
        setting=ground | {"prefetch_factor": 4},
        cell="test[prefetch4]",
    )
    found = only([cell("workers2", SLOWER, num_workers=2), on_workers])
    assert found.take == ()
    assert names(found.only_on) == ["prefetch4 on workers2"]


def test_of_a_technique_measured_twice_the_last_time_counts() -> None:
    lucky = cell("workers2", FASTEST, num_workers=2)
    found = only([lucky, cell("workers2", SLOWER, num_workers=2)])
    assert found.take == ()
    assert names(found.leave) == ["workers2"]


def test_a_run_whose_control_missed_is_only_a_hint() -> None:
    found = only([cell("control", FASTEST), cell("workers2", FASTER, num_workers=2)])
    (page,) = as_listings([found])
    assert any("noisy" in line for line in page.lines)


def test_the_command_marks_what_is_untested(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = RunFolder.create(tmp_path, {})
    run.append(cell("workers2", FASTER, num_workers=2))
    run.append(cell("fused", FASTEST, optimizer="fused"))
    assert main(["recommend", str(run.path)]) == 0
    assert "together they are untested" in capsys.readouterr().out
    assert main(["recommend", str(run.path), "--format", "json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["suggestions"]
    assert found["tested_in_combination"] is False
    assert [each["technique"] for each in found["take"]] == ["fused", "workers2"]


def test_an_empty_run_says_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = RunFolder.create(tmp_path, {})
    assert main(["recommend", str(run.path)]) == 2
    assert "nox -s bench" in capsys.readouterr().err


def test_a_skipped_technique_is_named_as_not_measured() -> None:
    found = only([record("dp", outcome="skipped", reason="dp needs 2 GPUs, found 0")])
    (page,) = as_listings([found])
    assert ("not measured", "dp", "–", "skipped") in page.rows
