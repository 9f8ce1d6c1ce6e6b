"""Whatever happens to a rank costs its own cell; whatever happens to pytest costs no record."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from benchmarks import options
from benchmarks.cell import Cell
from benchmarks.engine.launcher import Environment
from benchmarks.measuring import measure_cell
from benchmarks.setting import Setting
from benchmarks.suite import Suite
from benchmarks.techniques import FP32, SINGLE, ddp, workers
from results.store import StoreError
from tests.benchmarks.live import (
    FAULTY,
    bench,
    comes_true,
    lines_of,
    marked,
    strict,
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")

# without warm-up, step 4 of a faulty workload lies in a block
QUICKLY = {"starts": 2, "pairs": 2, "block_s": 0.05, "warm_up_s": 0.0, "limit_s": 60.0}


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Suite]:
    """A run of which each test measures cells."""
    folder = tmp_path_factory.mktemp("survival")
    said = {"--device": "cpu", "--scale": "tiny", "--cache": str(folder)}
    suite = Suite(replace(options.read(said.get, folder / "runs"), plan=QUICKLY), quick=False)
    try:
        suite.open([])
        yield suite
    finally:
        suite.close()


def cell(name: str, change: str = "") -> Cell:
    """A workload's control cell, or the cell with one change."""
    return Cell(
        workload=f"{FAULTY}:{name}",
        axes=(
            workers(2 if change == "workers2" else 0),
            FP32,
            ddp(2) if change == "ddp2" else SINGLE,
        ),
        baseline=Setting(),
        device="cpu",
    )


@pytest.mark.parametrize(
    ("name", "change", "outcome", "reason"),
    [
        ("raises", "", "failed", "baseline: rank 0: ArithmeticError: on purpose"),
        ("segfaults", "", "failed", "baseline: killed by SIGSEGV"),
        ("is_killed", "", "failed", "baseline: killed by SIGKILL"),
        ("exhausts_memory", "", "out_of_memory", "baseline: rank 0: RuntimeError: "),
        ("diverges", "", "invalid", "finite_losses: "),
        ("loses_a_worker", "workers2", "failed", "rank 0: RuntimeError: DataLoader worker"),
        ("rank1_raises", "ddp2", "failed", "rank 1: ArithmeticError: on purpose"),
        ("rank1_segfaults", "ddp2", "failed", "rank 1: killed by SIGSEGV"),
        ("rank1_exhausts_memory", "ddp2", "out_of_memory", "rank 1: RuntimeError: "),
    ],
)
def test_a_fault_costs_its_own_cell_only(
    suite: Suite, name: str, change: str, outcome: str, reason: str
) -> None:
    case = f"test_matrix[{name}-{change}]"
    measure_cell(suite, case, cell(name, change))
    measure_cell(suite, f"{case} and the next", cell("fine", change))
    faulty, following = suite.run.records()[-2:]
    assert (faulty.cell, faulty.outcome) == (case, outcome)
    assert faulty.reason is not None
    assert faulty.reason.startswith(reason)
    assert "\n" not in faulty.reason
    assert faulty.log or outcome == "invalid" or "SIGKILL" in reason
    assert faulty.verdict is None
    assert (following.outcome, following.starts) == ("ok", 2), following.reason
    assert following.speedup is not None


def test_a_hang_in_a_block_ends_with_the_cell(
    suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.engine.experiment.PATIENCE", 1)
    record = measure_cell(suite, "hangs_later", cell("hangs_later"))
    assert record.outcome == "timed_out"
    assert record.reason is not None
    assert record.reason.startswith("baseline: did not finish a block within ")


def test_a_rank_that_hangs_in_a_block_ends_with_the_cell(
    suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.engine.experiment.PATIENCE", 2)
    record = measure_cell(suite, "rank1_hangs", cell("rank1_hangs", "ddp2"))
    assert record.outcome == "timed_out"
    assert record.reason is not None
    assert record.reason.startswith("did not finish a block within ")


def test_a_hang_in_the_first_step_ends_at_the_cells_limit(
    suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = {**QUICKLY, "limit_s": 2.0}
    monkeypatch.setattr(suite, "options", replace(suite.options, plan=plan))
    record = measure_cell(suite, "hangs", cell("hangs"))
    assert (record.outcome, record.reason) == (
        "timed_out",
        "baseline: did not finish its first step within 2 s",
    )


def test_a_lost_fork_server_costs_one_cell(suite: Suite) -> None:
    suite._launcher_in(Environment())._server.kill()  # type: ignore[attr-defined]
    lost = measure_cell(suite, "without a server", cell("fine"))
    assert lost.outcome == "failed"
    assert lost.reason is not None
    assert "fork server" in lost.reason
    assert measure_cell(suite, "with another", cell("fine")).outcome == "ok"


def test_a_spent_budget_is_said_of_every_cell_left(
    suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(suite, "options", replace(suite.options, budget_s=suite.elapsed_s()))
    records = [measure_cell(suite, f"late {number}", cell("fine")) for number in range(2)]
    assert [(record.outcome, record.reason) for record in records] == [
        ("not_run", "the budget was spent; --budget gives more")
    ] * 2
    assert not {"late 0", "late 1"} & suite.finished  # a resumed run measures them


def test_a_disk_without_room_is_said_and_keeps_what_is_there(
    suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = suite.run.records_path.read_bytes()

    def full(descriptor: int, line: bytes) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("results.store.os.write", full)
        with pytest.raises(StoreError, match="No space left on device"):
            measure_cell(suite, "too much", replace(cell("fine"), device="xpu"))
    assert suite.run.records_path.read_bytes() == before


def in_the_middle_of_a_cell(run: "subprocess.Popen[str]", mark: str, cells_done: int) -> bool:
    """One arm is stopped, the other runs, loader workers are alive, and so many cells are done."""

    def seen() -> bool:
        assert run.poll() is None, "it ended early"
        states = [process.status() for process in alive(mark)]
        return states.count(psutil.STATUS_STOPPED) >= 1 and len(states) >= 7 and done()

    def done() -> bool:
        return sum(len(lines_of(file)) for file in runs.glob("*/records.jsonl")) >= cells_done

    runs = Path(mark)
    return comes_true(seen, 60.0)


def alive(mark: str) -> list[psutil.Process]:
    found = []
    for process in marked(mark):
        try:
            process.status()
        except psutil.NoSuchProcess:
            continue
        found.append(process)
    return found


WORKERS = "cpu-workers2-fp32-single"
PLAIN_AND_WORKERS = f"test_matrix and fine and fp32-single and (workers0 or {WORKERS})"


def test_sigkill_of_pytest_in_the_middle_of_a_cell_leaves_no_process(tmp_path: Path) -> None:
    mark = str(tmp_path)
    arguments = ("--workload", f"{FAULTY}:fine", "-k", f"test_matrix and {WORKERS}")
    run = bench(*arguments, "--starts", "100", "--block-seconds", "1", runs=tmp_path, mark=mark)
    try:
        assert in_the_middle_of_a_cell(run, mark, cells_done=0)
    finally:
        run.kill()
        run.communicate()
    assert comes_true(lambda: not marked(mark)), marked(mark)


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int, str, bool]:
    """Ctrl-C in the second cell: the runs' folder, exit code, output, whether all have ended."""
    runs = tmp_path_factory.mktemp("interrupted")
    mark = str(runs)
    arguments = ("--workload", f"{FAULTY}:fine", "-k", PLAIN_AND_WORKERS)
    run = bench(*arguments, "--block-seconds", "0.5", runs=runs, mark=mark)
    try:
        assert in_the_middle_of_a_cell(run, mark, cells_done=1)
        run.send_signal(signal.SIGINT)
        said, _ = run.communicate(timeout=60)
    finally:
        run.kill()
    return runs, run.returncode, said, comes_true(lambda: not marked(mark))


def test_ctrl_c_leaves_a_valid_run_and_no_process(
    interrupted: tuple[Path, int, str, bool],
) -> None:
    runs, code, said, all_ended = interrupted
    assert code == 2
    assert all_ended
    latest = runs / "latest"
    records = lines_of(latest / "records.jsonl")
    assert [record["outcome"] for record in records] == ["ok"]
    assert len(strict((latest / "benchmark.json").read_text())["benchmarks"]) == 1
    assert "fine" in (latest / "table.md").read_text()
    assert "Traceback" not in said


def test_a_resumed_run_measures_only_what_is_missing(
    interrupted: tuple[Path, int, str, bool],
) -> None:
    """The record that was being written when the power went is missing too."""
    runs, *_ = interrupted
    file = runs / "latest" / "records.jsonl"
    kept = file.read_text()
    file.write_text(kept + kept[: len(kept) // 2])
    name = (runs / "latest").resolve().name
    arguments = ("--workload", f"{FAULTY}:fine", "-k", PLAIN_AND_WORKERS, "--resume", "latest")
    run = bench(*arguments, runs=runs)
    said, _ = run.communicate(timeout=60)
    assert run.returncode == 0, said
    assert (runs / "latest").resolve().name == name
    from results.store import RunFolder

    records = RunFolder(runs / name).records()
    assert [(r.cell[12:], r.outcome) for r in records] == [
        ("fine-cpu-workers0-fp32-single]", "ok"),
        (f"fine-{WORKERS}]", "ok"),
    ]
    assert records[0].to_json() == kept.strip()
    table = (runs / name / "table.md").read_text()
    assert "workers2" in table
    in_benchmark = strict((runs / name / "benchmark.json").read_text())["benchmarks"]
    assert [entry["name"] for entry in in_benchmark] == [record.cell for record in records]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of three pages: one for environment.json, two for records."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=12k", "none", str(disk)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip("may not mount a small file system here")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_a_full_disk_ends_the_run_in_one_line(small_disk: Path) -> None:
    arguments = ("--workload", f"{FAULTY}:fine", "-k", PLAIN_AND_WORKERS)
    run = bench(*arguments, runs=small_disk)
    said, _ = run.communicate(timeout=60)
    assert run.returncode == pytest.ExitCode.INTERNAL_ERROR, said
    records = lines_of(small_disk / "latest" / "records.jsonl")
    assert all(record["outcome"] == "ok" for record in records)
    complaints = [line for line in said.splitlines() if "No space left on device" in line]
    assert any("cannot write test_matrix[" in line for line in complaints)
    assert "Traceback" not in said
