"""`python -m benchmarks regress` on a made-up suite: its exit codes, and where answers go."""

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from benchmarks import __main__ as program
from benchmarks.cell import Cell
from benchmarks.commands import regress
from benchmarks.engine.launcher import Environment, Origin
from benchmarks.options import OptionError
from results.calibration import keep
from results.record import Record
from results.store import RunFolder
from tests.benchmarks.live import strict
from tests.results.examples import compared
from tests.results.test_calibration import FOUND

OLD = Environment(variables=(("WHICH", "old"),))


@dataclass
class Options:
    cache: Path


class Suite:
    """Measures what `factors` say of cells; a control's arms must both be old."""

    def __init__(self, folder: Path, factors: Mapping[str, float]) -> None:
        self.options = Options(folder / "cache")
        self.run = RunFolder.create(folder / "runs", {"machine": FOUND.machine})
        self._factors = factors

    def measure_between(
        self, case: str, cell: Cell, origins: Mapping[str, Origin], starts: int | None
    ) -> Record:
        kind = case.partition("[")[0]
        assert origins["baseline"].environment == OLD
        assert (origins["candidate"].environment == OLD) == (kind == "control")
        factor = self._factors.get(kind, 1.0)
        if math.isnan(factor):
            raise KeyboardInterrupt
        ratios = [factor * ratio for ratio in (0.998, 1.0, 1.001, 1.002) * ((starts or 4) // 4)]
        return compared("control", ratios, cell=case, losses=[2.0], baseline_losses=[2.0])


@pytest.fixture
def gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs the command against a suite with these factors of throughput; its exit code."""
    closed: list[str] = []

    def run(*words: str, **factors: float) -> int:
        @contextmanager
        def opened(cells: list[Cell], **given: str) -> Iterator[Suite]:
            try:
                yield Suite(tmp_path, factors)
            finally:
                closed.append("suite")

        @contextmanager
        def from_revision(workload: str, revision: str) -> Iterator[Origin]:
            if revision == "nowhere":
                raise OptionError("no such revision")
            try:
                yield Origin(workload, OLD)
            finally:
                closed.append(workload)

        monkeypatch.setattr(regress, "opened", opened)
        monkeypatch.setattr(regress, "measure_between", Suite.measure_between)
        monkeypatch.setattr(regress, "from_revision", from_revision)
        named = ["--workload", "gpt2", "--device", "cpu"]
        code = program.main(["regress", *named, *(words or ("--against", "old"))])
        assert closed == (["suite"] if "nowhere" in words else ["gpt2", "suite"])
        return code

    return run


@pytest.mark.parametrize(
    ("factors", "code", "title"),
    [
        ({}, 0, "No regression found"),
        ({"regress": 0.85}, 1, "Regression"),
        ({"control": 0.85}, 3, "Inconclusive"),
        ({"control": 0.85, "regress": 0.85}, 3, "Inconclusive"),
    ],
)
def test_exit_code_and_title_say_the_outcome(
    gate: Any, capsys: pytest.CaptureFixture[str], factors: dict[str, float], code: int, title: str
) -> None:
    assert gate(**factors) == code
    printed = capsys.readouterr()
    assert printed.out.startswith(title)
    assert "records: " in printed.err


def test_a_revision_that_is_none_is_wrong_use(gate: Any) -> None:
    assert gate("--against", "nowhere") == 2


def test_stopped_by_ctrl_c_it_tidies_up_and_says_so(
    gate: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert gate(regress=math.nan) == 130
    assert capsys.readouterr().err.endswith("python -m benchmarks: stopped\n")


def test_the_answer_is_written_to_the_files_and_the_jobs_page(
    gate: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page, table, verdict = (tmp_path / name for name in ("page.md", "table.md", "verdict.json"))
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(page))
    files = ["--markdown", str(table), "--json", str(verdict)]
    assert gate("--against", "old", *files, regress=0.85) == 1
    assert page.read_text().strip() == table.read_text().strip()
    content = strict(verdict.read_text())
    assert (content["outcome"], content["exit_code"]) == ("regression", 1)
    assert "Regression" in table.read_text()


def test_a_file_that_cannot_be_written_does_not_cost_the_verdict(
    gate: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert gate("--against", "old", "--json", str(tmp_path), regress=0.85) == 1
    assert str(tmp_path) in capsys.readouterr().err


@pytest.mark.parametrize(
    ("calibrated", "words"), [(True, "Calibrated on 2026-12-01"), (False, "Not calibrated")]
)
def test_it_quotes_the_machines_calibration(
    gate: Any,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    calibrated: bool,
    words: str,
) -> None:
    if calibrated:
        keep(FOUND, tmp_path / "cache")
    gate()
    assert words in capsys.readouterr().out
