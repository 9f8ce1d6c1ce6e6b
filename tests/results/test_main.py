"""`python -m results`: prints what was asked for, or one line and exit code 2."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from results import store
from results.__main__ import main
from results.render import csv, markdown
from results.store import RunFolder
from results.table import workload_tables
from tests.results.examples import laptop_run


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    run = RunFolder.create(tmp_path, {})
    for given in laptop_run():
        run.append(given)
    return run


def test_prints_markdown_unless_told_otherwise(
    run: RunFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["table", str(run.path)]) == 0
    said = capsys.readouterr()
    assert said.out.startswith(markdown(workload_tables(laptop_run())))
    assert said.err == ""


def test_takes_latest_for_the_newest(run: RunFolder, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["table", str(run.path.parent / "latest"), "--format", "csv"]) == 0
    assert capsys.readouterr().out == csv(laptop_run())


def test_several_runs_are_told_apart(run: RunFolder, capsys: pytest.CaptureFixture[str]) -> None:
    other = RunFolder.create(run.path.parent, {})
    other.append(laptop_run()[0])
    assert main(["table", str(run.path), str(other.path)]) == 0
    said = capsys.readouterr().out
    assert f"## {run.path.name}: resnet18" in said
    assert f"## {other.path.name}: resnet18" in said


def test_sorts_and_selects(run: RunFolder, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--format", "json", "--sort", "speedup", "--columns", "technique, speedup"]
    assert main(["table", str(run.path), *options]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert list(rows[0]) == ["technique", "speedup"]
    known = [row["speedup"] for row in rows if row["speedup"] is not None]
    assert known == sorted(known, reverse=True)
    assert [row["speedup"] for row in rows[len(known) :]] == [None] * 4


def test_terminal_format_is_plain_text_in_a_pipe(
    run: RunFolder, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "70")
    assert main(["table", str(run.path), "--format", "terminal"]) == 0
    said = capsys.readouterr().out
    assert "\x1b" not in said
    assert max(map(len, said.splitlines())) <= 70


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["table", "{tmp}/typo"], "no run at"),
        (["table", "{tmp}"], "has no records.jsonl"),
        (["table", "{run}", "--sort", "spedup"], "did you mean speedup"),
        (["table", "{run}", "--columns", "spedup"], "did you mean speedup"),
        (["table", "{run}", "--format", "csv", "--sort", "spedup"], "did you mean speedup"),
        (["table", "{run}", "--columns", ","], "names no column"),
        (["table", "{run}", "--format", "xml"], "invalid choice"),
        (["tabel"], "invalid choice"),
        ([], "required: COMMAND"),
    ],
)
def test_wrong_use_is_one_line_and_exit_code_2(
    words: list[str],
    message: str,
    run: RunFolder,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    try:
        code: object = main([word.format(tmp=tmp_path, run=run.path) for word in words])
    except SystemExit as stopped:  # argparse's way
        code = stopped.code
    said = capsys.readouterr()
    assert code == 2
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert message in said.err


def test_the_exit_code_reaches_the_shell(tmp_path: Path) -> None:
    said = subprocess.run(
        [sys.executable, "-m", "results", "table", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert said.returncode == 2
    assert said.stdout == ""
    assert said.stderr == f"python -m results: {tmp_path} is not a run: it has no records.jsonl\n"


def test_an_unreadable_file_is_one_line_and_exit_code_2(
    run: RunFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    run.records_path.write_text("no record\n")
    assert main(["table", str(run.path)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert "records.jsonl:1" in said.err


def test_without_any_run_it_says_how_to_get_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "RUNS", tmp_path)
    assert main(["table"]) == 2
    assert "nox -s bench" in capsys.readouterr().err


def test_reads_without_torch(run: RunFolder) -> None:
    code = (
        "import sys\n"
        "from results.__main__ import main\n"
        f"main(['table', {str(run.path)!r}, '--format', 'csv'])\n"
        "sys.exit('torch' in sys.modules)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "workers2" in said.stdout


def test_a_terminal_that_knows_ascii_only_still_gets_its_table(run: RunFolder) -> None:
    said = subprocess.run(
        [sys.executable, "-m", "results", "table", str(run.path)],
        capture_output=True,
        check=False,
        env={"PYTHONIOENCODING": "ascii"},
    )
    assert said.returncode == 0
    assert b"1.23? (1.20?1.27)" in said.stdout
