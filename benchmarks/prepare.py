"""Before anything is measured: generated data is made, and a user's workload and data are tried."""

import json
import tempfile
import time
from pathlib import Path

from benchmarks.engine.arm import describe_status, last_lines
from benchmarks.engine.launcher import Job, Launcher
from benchmarks.engine.reaper import Reaper, kill_arm
from benchmarks.options import OptionError

LIMIT_S = 600.0  # of generating one workload's data


def prepare(launcher: Launcher, reaper: Reaper, job: Job) -> None:
    """Make the data of the job's workload, in a process that has torch.

    Raises:
        OptionError: the workload or its data does not serve.
    """
    with tempfile.TemporaryDirectory(prefix="prepare-") as name:
        folder = Path(name)
        process = launcher.start(
            {
                **job,
                "task": "prepare",
                "log": str(folder / "log"),
                "fault": str(folder / "fault.json"),
            }
        )
        reaper.watch(process.pid)
        deadline = time.monotonic() + LIMIT_S
        try:
            while (status := process.exit_status()) is None and time.monotonic() < deadline:
                time.sleep(0.005)
        finally:
            kill_arm(process.pid)
            reaper.forget(process.pid)
        if status == 0:
            return
        if status is None:
            raise OptionError(f"{job['workload']}: its data was not ready within {LIMIT_S:.0f} s")
        raise OptionError(f"{job['workload']}: {_reason(folder, status)}")


def _reason(folder: Path, status: int) -> str:
    try:
        told: str = json.loads((folder / "fault.json").read_text())["reason"]
    except (OSError, ValueError):
        said = last_lines(folder / "log")
        return f"{describe_status(status)}{': ' + said[-1] if said else ''}"
    return told
