"""What a user types and what comes out: pytest in a process of its own, from options to files."""

import csv
import json
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from benchmarks import options
from benchmarks.cell import Cell
from benchmarks.measuring import measure_cell
from benchmarks.setting import Setting
from benchmarks.suite import Suite
from benchmarks.techniques import FP32, SINGLE, workers
from results.record import Record
from tests.benchmarks.live import FAULTY, ROOT, bench, lines_of, strict

CONTROL = "test_matrix[fine-cpu-workers0-fp32-single]"
FAILED = "test_matrix[raises-cpu-workers0-fp32-single]"
SKIPPED = "test_matrix[fine-cpu-workers0-fp32-dp]"
SELECTED = "test_matrix and workers0-fp32 and (single or dp) and not ddp"
SLEEPERS = ROOT / "benchmarks" / "selfcheck" / "sleepers.py"


def python(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, cwd=ROOT, check=False
    )


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int, str]:
    """A run with a cell that is measured, one that fails and two that this machine cannot run."""
    runs = tmp_path_factory.mktemp("run")
    both = f"{FAULTY}:fine,{FAULTY}:raises"
    started = bench(
        *("--workload", both, "-k", SELECTED, "--benchmark-json", runs / "mine.json"), runs=runs
    )
    said, _ = started.communicate(timeout=120)
    return runs, started.returncode, said


def records_of(runs: Path) -> dict[str, dict[str, Any]]:
    return {line["cell"]: line for line in lines_of(runs / "latest" / "records.jsonl")}


def test_a_run_leaves_all_its_files(run: tuple[Path, int, str]) -> None:
    runs, _, said = run
    folder = (runs / "latest").resolve()
    assert folder.parent == runs
    assert {path.name for path in folder.iterdir()} >= {
        "records.jsonl",
        "environment.json",
        "benchmark.json",
        "table.md",
        "table.csv",
    }, said


def test_the_exit_code_says_that_a_cell_failed(run: tuple[Path, int, str]) -> None:
    _, code, said = run
    assert code == pytest.ExitCode.TESTS_FAILED, said


def test_every_cell_has_a_record_with_the_contracts_fields(run: tuple[Path, int, str]) -> None:
    runs, _, _ = run
    records = records_of(runs)
    assert {cell: record["outcome"] for cell, record in records.items()} == {
        CONTROL: "ok",
        FAILED: "failed",
        SKIPPED: "skipped",
        SKIPPED.replace("fine", "raises"): "skipped",
    }
    names = {field.name for field in fields(Record)}
    assert all(names <= set(record) for record in records.values())


def test_a_measured_record_holds_what_was_measured(run: tuple[Path, int, str]) -> None:
    runs, _, _ = run
    record = records_of(runs)[CONTROL]
    assert (record["workload"], record["scale"], record["unit"]) == ("fine", "tiny", "items")
    assert (record["technique"], record["starts"]) == ("control", 2)
    assert record["setting"] == record["baseline"] == Setting().to_dict()
    assert record["speedup_low"] < record["speedup"] < record["speedup_high"]
    assert record["verdict"] in ("faster", "slower", "same", "unclear")
    assert 0 < record["samples_per_s"] < 4 / 0.002
    assert 0.002 <= record["step_s"]["p10"] <= record["step_s"]["median"]
    assert record["step_s"]["median"] <= record["step_s"]["p90"] <= record["step_s"]["p99"]
    assert 0 < record["timed_s"] < record["wall_s"]
    assert 0 < record["cold_s"] < record["launch_s"]
    assert record["resident_bytes"] > 1 << 20
    assert record["cpu_utilization_pct"] is None or record["cpu_utilization_pct"] > 0
    assert (record["gpu_utilization_pct"], record["gpu_power_w"]) == (None, None)
    assert record["losses"] == record["baseline_losses"]
    assert all(guard["ok"] for guard in record["guards"])
    arms = {0: ["baseline", "candidate"], 1: ["candidate", "baseline"]}
    for start, (first, second) in arms.items():
        timed = [block["arm"] for block in record["blocks"] if block["start"] == start]
        # the second pair is left out where another load on the machine makes the steps long
        assert timed in ([first, second, second, first], [first, second])
    assert record["pairs"] == len(record["blocks"]) / 2
    assert all(block["samples"] == 4 * block["steps"] for block in record["blocks"])


def test_a_failed_record_says_why(run: tuple[Path, int, str]) -> None:
    runs, _, said = run
    record = records_of(runs)[FAILED]
    assert record["reason"] == "baseline: rank 0: ArithmeticError: on purpose"
    assert record["log"][-1] == "with a second line"
    assert record["reason"] in said
    assert "  | ArithmeticError: on purpose" in said


def test_the_environment_knows_torch_and_the_options(run: tuple[Path, int, str]) -> None:
    runs, _, _ = run
    environment = strict((runs / "latest" / "environment.json").read_text())
    text = json.dumps(environment)
    assert str(FAULTY) in text
    assert "torch" in text


def test_the_tables_show_every_cell(run: tuple[Path, int, str]) -> None:
    runs, _, said = run
    page = (runs / "latest" / "table.md").read_text()
    for words in ("control", "dp needs 2 GPUs, found 0", "ArithmeticError: on purpose"):
        assert words in page
        assert words in said
    with (runs / "latest" / "table.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["cell"] for row in rows} == set(records_of(runs))


def test_the_results_command_prints_the_run(run: tuple[Path, int, str]) -> None:
    runs, _, _ = run
    printed = python("-m", "results", "table", str(runs / "latest"))
    assert printed.returncode == 0, printed.stderr
    assert "items/s" in printed.stdout
    as_json = python("-m", "results", "table", str(runs / "latest"), "--format", "json")
    strict(as_json.stdout)


@pytest.mark.parametrize("name", ["latest/benchmark.json", "mine.json"])
def test_pytest_benchmark_reads_the_run(run: tuple[Path, int, str], name: str) -> None:
    runs, _, _ = run
    [entry] = strict((runs / name).read_text())["benchmarks"]
    assert entry["name"] == CONTROL
    assert entry["extra_info"] == records_of(runs)[CONTROL]
    blocks = [b for b in entry["extra_info"]["blocks"] if b["arm"] == "candidate"]
    assert entry["stats"]["rounds"] == len(blocks)
    assert entry["stats"]["max"] == pytest.approx(max(b["seconds"] / b["steps"] for b in blocks))
    compared = python(
        *("-c", "import sys; from pytest_benchmark.cli import main; sys.exit(main())"),
        *("compare", str(runs / name)),
    )
    assert compared.returncode == 0, compared.stderr
    assert CONTROL in compared.stdout


@pytest.mark.parametrize("name", ["latest/benchmark.json", "mine.json"])
def test_github_action_benchmark_reads_the_run(run: tuple[Path, int, str], name: str) -> None:
    """What `extractPytestResult` of its src/extract.ts takes from each entry, and shows."""
    runs, _, _ = run
    content = strict((runs / name).read_text())
    assert content["benchmarks"]
    for entry in content["benchmarks"]:
        stats = entry["stats"]
        assert entry["fullname"] == f"benchmarks/test_matrix.py::{CONTROL}"
        assert all(
            isinstance(stats[field], float | int) for field in ("ops", "stddev", "mean", "rounds")
        )
        blocks = [b for b in entry["extra_info"]["blocks"] if b["arm"] == "candidate"]
        step_s = [block["seconds"] / block["steps"] for block in blocks]
        assert stats["mean"] == pytest.approx(sum(step_s) / len(step_s))
        assert stats["ops"] == pytest.approx(1 / stats["mean"])  # its value: steps a second
    assert {"id", "time", "dirty", "branch"} <= set(content["commit_info"])


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--starts", "0"], "--starts 0: want a whole number from 1 up"),
        (["--pairs", "two"], "--pairs two: want a whole number from 1 up"),
        (["--block-seconds", "-1"], "--block-seconds -1: want a number of seconds above 0"),
        (["--budget", "5"], "--budget 5: want a duration such as 90s, 5m or 1h30m"),
        (["--scale", "huge"], "--scale huge: choose from tiny, small, full"),
        (["--device", "tpu"], "--device tpu: choose from cpu, cuda, mps, xpu"),
        (["--workload", "resnet19"], "--workload resnet19: choose from resnet18, "),
        (["--workload", "nowhere.py:mine"], "--workload nowhere.py: cannot be read (No such"),
        (["--images", "nowhere"], "--images nowhere: cannot be read (No such file"),
        (["--images", "{empty}"], "--images {empty}: needs one folder of images per class"),
        (["--text", "{empty}"], "--text {empty}: cannot be read (Is a directory)"),
    ],
)
def test_wrong_options_get_one_line_and_exit_code_2(
    tmp_path: Path, words: list[str], complaint: str
) -> None:
    said = [word.format(empty=tmp_path) for word in words]
    # collected only: were the option accepted, nothing would be measured
    ended = python("-m", "pytest", "benchmarks", "--collect-only", *said)
    assert ended.returncode == 2
    output = (ended.stdout + ended.stderr).strip()
    assert output.startswith(f"Exit: {complaint.format(empty=tmp_path)}")
    assert "\n" not in output


def test_a_workload_that_cannot_be_trained_ends_the_run_before_it_begins(tmp_path: Path) -> None:
    run = bench("--workload", f"{FAULTY}:missing", "-k", "workers0-fp32-single", runs=tmp_path)
    said, _ = run.communicate(timeout=60)
    assert run.returncode == 2
    [complaint] = [line for line in said.splitlines() if "missing" in line]
    assert f"{FAULTY}: no 'missing'; want missing = workloads.Workload(...)" in complaint
    assert not list(tmp_path.glob("*/records.jsonl"))


@pytest.mark.parametrize("words", [["--collect-only", "-q"], ["--collect-only", "-k", "amp"]])
def test_collecting_does_not_import_torch(words: list[str]) -> None:
    code = (
        "import sys, pytest\n"
        f"code = pytest.main(['benchmarks', '--device', 'cpu', *{words!r}])\n"
        "print('torch' in sys.modules, 'pandas' in sys.modules, 'scipy' in sys.modules, int(code))"
    )
    said = python("-c", code).stdout.splitlines()
    assert said[-1] == "False False False 0"
    cases = [line for line in said if "test_matrix[" in line or "<Function test_matrix" in line]
    assert cases
    assert all("amp" in case for case in cases) or "amp" not in words


def test_a_workload_of_sleeps_takes_what_arithmetic_says(tmp_path: Path) -> None:
    """A busy machine only ever adds to a sleep: tight above, wide below."""
    from benchmarks.selfcheck.sleepers import BATCH, seconds_per_step  # imports torch

    said = {"--cache": str(tmp_path), "--starts": "2", "--pairs": "2", "--block-seconds": "0.5"}
    suite = Suite(options.read(said.get, tmp_path / "runs"), quick=False)
    cell = Cell(
        workload=f"{SLEEPERS}:sleepers",
        axes=(workers(2), FP32, SINGLE),
        baseline=Setting(),
        device="cpu",
        scale="tiny",
    )
    try:
        suite.open([cell])
        record = measure_cell(suite, "sleepers", cell)
    finally:
        suite.close()
    assert record.outcome == "ok", record.reason
    for workers_used, measured in (
        (2, record.samples_per_s),
        (0, record.baseline_samples_per_s),
    ):
        assert measured is not None
        share = measured * seconds_per_step(workers_used) / BATCH
        assert 0.5 < share < 1.03
    # 2.6 by arithmetic; two starts of a busy machine can leave the interval wide
    assert record.speedup is not None
    assert record.speedup > 1.3


@pytest.mark.parametrize(
    ("named", "collected"),
    [
        (["benchmarks"], False),
        (["benchmarks/test_layout.py"], True),
        (["benchmarks", "--tier", "full"], True),
        (["benchmarks", "-k", "channels_last"], True),
        (["benchmarks/test_layout.py", "--tier", "quick"], False),
    ],
)
def test_a_family_runs_when_it_is_named(named: list[str], collected: bool) -> None:
    words = ("-m", "pytest", "--collect-only", "-q", "--device", "cpu", *named)
    assert ("test_layout[resnet18-cpu-channels_last]" in python(*words).stdout) == collected
