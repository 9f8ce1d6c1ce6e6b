"""What tests with real processes share: jobs for arms, and looking for processes left behind."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from benchmarks.setting import Setting

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
FAULTY = HERE / "faulty_workloads.py"
MARK = "TRAINING_BENCHMARK_TEST"  # in the environment of every process of a run under test
PATIENCE_S = 30.0  # a bound for what takes well under a second when the machine is quiet


def job(name: str, cache: Path, **setting: Any) -> dict[str, Any]:
    """What an arm is to do with one of the faulty workloads, without warm-up."""
    return {
        "workload": f"{FAULTY}:{name}",
        "scale": "tiny",
        "setting": Setting(**setting).to_dict(),
        "cache": str(cache),
        "images": None,
        "text": None,
        "cores": 2,
        "seed": 0,
        "warm_up_s": 0.0,
    }


def comes_true(condition: Callable[[], object], timeout_s: float = PATIENCE_S) -> bool:
    """Whether `condition` holds within the timeout; what it waits for usually takes no time."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def members(group: int) -> list[psutil.Process]:
    """The live processes of a process group: zombies are only waiting to be counted."""
    found = []
    for process in psutil.process_iter():
        try:
            if os.getpgid(process.pid) == group and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except (ProcessLookupError, psutil.NoSuchProcess):
            continue
    return found


def marked(mark: str) -> list[psutil.Process]:
    """The live processes that were started, however indirectly, with this mark."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(MARK) == mark:
                found.append(process)
        except psutil.Error:  # gone, a zombie, or another user's
            continue
    return found


def bench(
    *arguments: str | Path, runs: Path, mark: str = "", before: str = ""
) -> "subprocess.Popen[str]":
    """`pytest benchmarks` with little to measure; `before` is Python that runs first."""
    code = f"import sys, pytest\n{before}\nsys.exit(pytest.main(sys.argv[1:]))"
    options = ["--device", "cpu", "--scale", "tiny", "--starts", "2", "--pairs", "2"]
    options += ["--block-seconds", "0.05", "--runs", str(runs), "--cache", str(runs / "cache")]
    return subprocess.Popen(
        [sys.executable, "-c", code, "benchmarks", *options, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1", MARK: mark, "PYTHONDONTWRITEBYTECODE": "1"},
    )


def lines_of(path: Path) -> list[dict[str, Any]]:
    """JSON lines, none of them with NaN; a torn last line counts as none."""
    if not path.exists():
        return []
    whole = [line for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]
    return [strict(line) for line in whole]


def strict(text: str) -> Any:
    """What strict JSON holds: NaN and infinities are refused."""

    def refuse(name: str) -> None:
        raise AssertionError(f"not strict JSON: {name}")

    return json.loads(text, parse_constant=refuse)
