"""Both launchers start an arm in a process group of its own and tell how it ended."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from benchmarks.engine.channel import Channel, Door
from benchmarks.engine.launcher import (
    Environment,
    ForkServer,
    FreshInterpreter,
    Launcher,
    LaunchError,
    Process,
)
from benchmarks.engine.reaper import kill_arm
from tests.benchmarks.live import FAULTY, HERE, MARK, comes_true, job, marked

ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="the fork server is for Linux")
STEPS = 3


@pytest.fixture(params=[pytest.param("fork server", marks=ON_LINUX), "fresh interpreter"])
def either(request: pytest.FixtureRequest) -> Iterator[Launcher]:
    if request.param == "fork server":
        yield request.getfixturevalue("launcher")
        return
    yield FreshInterpreter(Environment(variables=(("OMP_NUM_THREADS", "1"),)))


def preparation(folder: Path, workload: str) -> dict[str, Any]:
    return {
        **job(workload, folder),
        "task": "prepare",
        "log": str(folder / "log"),
        "fault": str(folder / "fault.json"),
    }


def ended(process: Process) -> int | None:
    assert comes_true(lambda: process.exit_status() is not None)
    return process.exit_status()


def test_an_arm_runs_a_workload(either: Launcher, tmp_path: Path) -> None:
    door = Door()
    process = either.start(
        {
            **job("fine", tmp_path),
            "port": door.port,
            "token": door.token,
            "log": str(tmp_path / "log"),
            "fault": str(tmp_path / "fault.json"),
        }
    )
    channel = door.accept(60.0, alive=lambda: process.exit_status() is None)
    door.close()
    assert channel is not None
    assert os.getpgid(process.pid) == process.pid
    first, warm = channel.receive(60.0), channel.receive(60.0)
    assert first is not None
    assert warm is not None
    assert (first["event"], first["units_per_step"], first["unit"]) == ("first_step", 4, "items")
    assert warm["step_s"] > 0
    channel.send({"do": "run", "drain": 1, "steps": STEPS, "blocks": 2})
    answer = channel.receive(60.0)
    assert answer is not None
    assert [block["steps"] for block in answer["blocks"]] == [STEPS, STEPS]
    assert all(len(block["step_s"]) == STEPS for block in answer["blocks"])
    assert all(sum(b["step_s"]) <= b["seconds"] for b in answer["blocks"])
    channel.send({"do": "leave"})
    assert channel.receive(60.0) == {"left": True}
    assert ended(process) == 0
    channel.close()


def test_how_a_job_failed_is_told_without_pytest_seeing_its_output(
    either: Launcher, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    process = either.start(preparation(tmp_path, "missing"))
    assert ended(process) == 1
    told = json.loads((tmp_path / "fault.json").read_text())
    assert (told["outcome"], told["rank"]) == ("failed", 0)
    assert told["reason"].startswith(f"{FAULTY}: no 'missing'")
    assert "WorkloadError" in (tmp_path / "log").read_text()
    assert capfd.readouterr() == ("", "")


def test_a_signal_shows_as_a_negative_status(either: Launcher, tmp_path: Path) -> None:
    process = either.start(preparation(tmp_path, "fine"))
    kill_arm(process.pid)
    assert ended(process) == -signal.SIGKILL


@ON_LINUX
def test_an_arm_has_no_input(launcher: Launcher, tmp_path: Path) -> None:
    """What an arm reads must not be what the fork server should have read: an order."""
    asking = tmp_path / "asking_workload.py"
    asking.write_text("import sys\nassert sys.stdin.read() == ''\nraise OSError('no input')\n")
    process = launcher.start({**preparation(tmp_path, "fine"), "workload": f"{asking}:anything"})
    assert ended(process) == 1
    assert "no input" in json.loads((tmp_path / "fault.json").read_text())["reason"]


@ON_LINUX
def test_arms_of_one_server_do_not_share_modules(launcher: Launcher, tmp_path: Path) -> None:
    """An arm's imports stay its own: the next arm imports a changed file afresh."""
    mine = tmp_path / "changing_workload.py"
    for said in ("first", "second"):
        mine.write_text(f"raise OSError('{said} version')\n")
        process = launcher.start({**preparation(tmp_path, "fine"), "workload": f"{mine}:anything"})
        assert ended(process) == 1
        fault = tmp_path / "fault.json"
        assert f"{said} version" in json.loads(fault.read_text())["reason"]
        fault.unlink()


@ON_LINUX
def test_a_server_that_died_says_so() -> None:
    server = ForkServer(Environment())
    server._server.kill()
    with pytest.raises(LaunchError, match="the fork server ended with status -9"):
        server.start({})
    server.close()


@ON_LINUX
def test_the_server_ends_when_its_owner_is_killed() -> None:
    owner = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import time\n"
            "from benchmarks.engine.launcher import *\n"
            "server = ForkServer(Environment())\n"
            "print(server._server.pid, flush=True)\n"
            "time.sleep(3600)",
        ],
        stdout=subprocess.PIPE,
        cwd=HERE.parent.parent,
        env={**os.environ, MARK: f"launcher-{os.getpid()}"},
    )
    assert owner.stdout is not None
    server = psutil.Process(int(owner.stdout.readline()))
    owner.kill()
    owner.communicate()
    assert comes_true(lambda: not server.is_running())
    assert not marked(f"launcher-{os.getpid()}")


def test_a_door_opens_to_the_token_only() -> None:
    door = Door()
    stranger = Channel.connect(door.port, "guess")
    arm: list[Channel] = []
    knocking = threading.Timer(0.05, lambda: arm.append(Channel.connect(door.port, door.token)))
    knocking.start()
    channel = door.accept(10.0, alive=lambda: True)
    knocking.join()
    assert channel is not None
    arm[0].send({"said": "by the arm"})
    assert channel.receive(10.0) == {"said": "by the arm"}
    for end in (stranger, channel, arm[0], door):
        end.close()
