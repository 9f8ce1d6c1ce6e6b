"""What tests with real processes share: jobs for arms, and looking for processes left behind."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from benchmarks.setting import Setting

HERE = Path(__file__).parent
FAULTY = HERE / "faulty_workloads.py"
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


def marked(variable: str, value: str) -> list[psutil.Process]:
    """The live processes that were started, however indirectly, with this environment variable."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(variable) == value:
                found.append(process)
        except psutil.Error:  # gone, a zombie, or another user's
            continue
    return found
