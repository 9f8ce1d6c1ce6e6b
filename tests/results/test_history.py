"""A history over stored runs: every measured cell once, read fast and read right."""

import json
import logging
import math
from datetime import UTC, datetime, timedelta
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from results import store
from results.__main__ import main
from results.archive import read
from results.history import levels, lines
from results.record import Record
from results.store import RunFolder, StoreError
from tests.results.examples import compared, laptop_run, record

FIRST = datetime(2026, 3, 1, tzinfo=UTC)


def stored(root: Path, nights: list[list[Record]], machines: list[str] | None = None) -> None:
    for night, records in enumerate(nights):
        machine = machines[night] if machines else "abc"
        run = RunFolder.create(root, {"machine": machine}, FIRST + timedelta(days=night))
        for each in records:
            run.append(each)


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """Thirty nights; cell `b` loses 8% in the twentieth."""
    random = np.random.default_rng(0)
    nights = []
    for night in range(30):
        noise = np.exp(random.normal(0, 0.01, (2, 4)))
        fall = 0.92 if night >= 20 else 1.0
        nights.append([compared("a", list(1.3 * noise[0])), compared("b", list(fall * noise[1]))])
    stored(tmp_path, nights)
    return tmp_path


def test_a_fall_is_named_with_its_run_and_comes_first(archive: Path) -> None:
    worst, steady = lines(read(archive))
    assert worst.cell == "test_matrix[resnet18-cpu-b]"
    assert worst.last_change == pytest.approx(0.92, abs=0.02)
    assert worst.points[worst.levels[-1].begin].run == "2026-03-21T00-00-00Z"
    assert (steady.last_change, len(steady.points)) == (None, 30)


def test_the_fast_reader_reads_what_the_record_reader_reads(tmp_path: Path) -> None:
    stored(tmp_path, [laptop_run()])
    archive = read(tmp_path)
    run = RunFolder.open(tmp_path / "latest")
    expected = {
        each.cell: (each.speedup, each.samples_per_s)
        for each in run.records()
        if each.speedup is not None
    }
    found = {
        cell.identity.cell: (points[0].speedup, points[0].samples_per_s)
        for cell, points in archive.series.items()
    }
    assert found == expected
    assert len(archive.series) == len(found)


def test_lines_in_another_layout_are_read_too(tmp_path: Path) -> None:
    stored(tmp_path, [[compared("a", [1.2, 1.3])]])
    path = tmp_path / "latest" / "records.jsonl"
    whole = json.loads(path.read_text())
    path.write_text(json.dumps(dict(reversed(whole.items())), separators=(",", ":")) + "\n")
    [points] = read(tmp_path).series.values()
    assert points[0].speedup == whole["speedup"]


def test_words_that_look_like_fields_deceive_nobody(tmp_path: Path) -> None:
    trap = '", "scaling_efficiency": 1, "outcome": "ok", "speedup": 9'
    stored(tmp_path, [[compared("a", [1.2, 1.3], technique=trap, setting={"knob": trap})]])
    [points] = read(tmp_path).series.values()
    assert points[0].speedup == pytest.approx(math.sqrt(1.2 * 1.3))


@pytest.mark.parametrize(
    "damage",
    [
        lambda line: line[: len(line) // 2],
        lambda line: line[:-2],
        lambda line: line.replace('"schema": 1', '"schema": 99'),
        lambda line: line.replace('"speedup": ', '"speedup": NaN, "was": '),
    ],
)
def test_a_damaged_line_is_left_out_with_a_warning(
    damage: object, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stored(tmp_path, [[compared("a", [1.2, 1.3])], [compared("a", [1.2, 1.3])]])
    path = tmp_path / "latest" / "records.jsonl"
    assert callable(damage)
    path.write_text(damage(path.read_text().strip()) + "\n")
    with caplog.at_level(logging.WARNING):
        [points] = read(tmp_path).series.values()
    assert [point.position for point in points] == [0]
    assert "records.jsonl:1" in caplog.text


def test_the_last_record_of_a_cell_counts(tmp_path: Path) -> None:
    again = [compared("a", [1.2, 1.2]), compared("a", [1.4, 1.4])]
    failed = [compared("b", [1.2, 1.2]), record("b", outcome="failed", reason="signal 9")]
    stored(tmp_path, [again + failed])
    [points] = read(tmp_path).series.values()
    assert points[0].speedup == pytest.approx(1.4)


def test_another_machine_is_another_history(tmp_path: Path) -> None:
    night = [compared("a", [1.2, 1.3])]
    stored(tmp_path, [night, night, night], ["abc", "def", "abc"])
    found = {line.machine: len(line.points) for line in lines(read(tmp_path))}
    assert found == {"abc": 2, "def": 1}


def test_changes_too_small_to_matter_are_no_levels() -> None:
    values = [1.0] * 5 + [1.01] * 5 + [0.9] * 5
    found = levels(values, [5, 10], margin=0.02)
    assert [(level.begin, level.end) for level in found] == [(0, 10), (10, 15)]
    assert len(levels(values, [5, 10], margin=0.005)) == 3


def test_prints_a_table_and_the_changes(archive: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["history", str(archive)]) == 0
    said = capsys.readouterr().out
    rows = [line for line in said.splitlines() if line.startswith("| test")]
    assert len(rows) == 2
    assert "2026-03-21T00-00-00Z" in rows[0]
    assert r"- 2026-03-21T00-00-00Z: test_matrix\[resnet18-cpu-b\] −" in said
    assert main(["history", str(archive), "--of", "throughput", "--format", "terminal"]) == 0
    assert "/s" in capsys.readouterr().out


def test_json_holds_every_value(archive: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["history", str(archive), "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["runs"]) == 30
    assert [len(cell["values"]) for cell in found["cells"]] == [30, 30]
    assert found["cells"][0]["levels"][-1]["begin"] == 20


def test_the_chart_is_xml_with_a_panel_per_cell_and_a_mark_per_change(
    archive: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chart = archive / "history.svg"
    assert main(["history", str(archive), "--chart", str(chart)]) == 0
    capsys.readouterr()
    picture = ElementTree.parse(chart).getroot()
    name = "{http://www.w3.org/2000/svg}"
    panels = picture.findall(f"{name}polyline")
    assert [len(str(panel.get("points")).split()) for panel in panels] == [30, 30]
    marks = [mark.findtext(f"{name}title") for mark in picture.findall(f"{name}polygon")]
    assert marks[:2] == ["got slower", "got faster"]
    assert len(marks) == 3
    assert str(marks[2]).startswith("2026-03-21T00-00-00Z: −")


def test_the_chart_survives_any_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stored(tmp_path, [[compared('<&">\x1b\x00 ' + "x" * 99, [1.2, 1.3])]])
    chart = tmp_path / "history.svg"
    assert main(["history", str(tmp_path), "--chart", str(chart)]) == 0
    assert "\x1b" not in capsys.readouterr().out
    assert "<&" in "".join(ElementTree.parse(chart).getroot().itertext())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["{tmp}/typo"], "no folder"),
        (["{tmp}/empty"], "no runs in"),
        (["{tmp}/unmeasured"], "nothing was measured in any of 1 runs"),
        (["{tmp}/good", "--chart", "{tmp}/no/such/folder.svg"], "cannot write the chart"),
        (["{tmp}/good", "--of", "luck"], "invalid choice"),
    ],
)
def test_wrong_use_is_one_line_and_exit_code_2(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    stored(tmp_path / "unmeasured", [[record("a", outcome="skipped", reason="no GPU")]])
    stored(tmp_path / "good", [[compared("a", [1.2, 1.3])]])
    try:
        code: object = main(["history", *(word.format(tmp=tmp_path) for word in words)])
    except SystemExit as stopped:  # argparse's way
        code = stopped.code
    said = capsys.readouterr()
    assert (code, said.out, said.err.count("\n")) == (2, "", 1)
    assert message in said.err


def test_without_a_folder_it_reads_the_suites_own_runs(
    archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("results.archive.RUNS", archive)
    assert len(read().runs) == 30
    monkeypatch.setattr("results.archive.RUNS", archive / "none")
    with pytest.raises(StoreError, match="no folder"):
        read()
    assert store.RUNS.name == "runs"
