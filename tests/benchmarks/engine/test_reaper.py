"""Arms end when pytest does, however it ends, and whatever they are doing."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from benchmarks.engine.reaper import Reaper, kill_arm, reap
from tests.benchmarks.live import comes_true, members

pytestmark = pytest.mark.skipif(os.name != "posix", reason="process groups are POSIX's")

ROOT = Path(__file__).parents[3]
ARM = """
import os, signal, time
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
os.fork()
os.write(1, b"up\\n")
time.sleep(3600)
"""
OWNER = """
import sys, time
from benchmarks.engine.reaper import Reaper
reaper = Reaper()
for leader in sys.argv[1:]:
    reaper.watch(int(leader))
print("watching", flush=True)
time.sleep(3600)
"""


@pytest.fixture
def start_arm() -> Iterator[Callable[[], int]]:
    """Starts a leader with a child, both deaf to polite signals; gives the leader's pid."""
    arms: list[subprocess.Popen[str]] = []

    def start() -> int:
        arm = subprocess.Popen(
            [sys.executable, "-c", ARM], stdout=subprocess.PIPE, text=True, process_group=0
        )
        arms.append(arm)
        assert arm.stdout is not None
        assert [arm.stdout.readline() for _ in range(2)] == ["up\n"] * 2
        return arm.pid

    yield start
    for arm in arms:
        kill_arm(arm.pid)
        arm.communicate()


def test_an_arm_is_killed_with_its_children(start_arm: Callable[[], int]) -> None:
    arm = start_arm()
    assert len(members(arm)) == 2
    kill_arm(arm)
    assert comes_true(lambda: not members(arm))


def test_killing_a_paused_arm_works(start_arm: Callable[[], int]) -> None:
    arm = start_arm()
    os.killpg(arm, signal.SIGSTOP)
    kill_arm(arm)
    assert comes_true(lambda: not members(arm))


def test_killing_what_is_gone_is_no_error(start_arm: Callable[[], int]) -> None:
    arm = start_arm()
    kill_arm(arm)
    assert comes_true(lambda: not members(arm))
    kill_arm(arm)


def test_children_are_killed_even_after_their_leader_ended(start_arm: Callable[[], int]) -> None:
    arm = start_arm()
    os.kill(arm, signal.SIGKILL)
    assert comes_true(lambda: len(members(arm)) == 1)
    kill_arm(arm)
    assert comes_true(lambda: not members(arm))


def test_only_what_is_still_on_the_list_is_killed(start_arm: Callable[[], int]) -> None:
    kept, forgotten = start_arm(), start_arm()
    reap([f"+{kept}\n", f"+{forgotten}\n", f"-{forgotten}\n"])
    assert comes_true(lambda: not members(kept))
    assert len(members(forgotten)) == 2


def test_closing_kills_what_is_left(start_arm: Callable[[], int]) -> None:
    arm = start_arm()
    reaper = Reaper()
    reaper.watch(arm)
    reaper.close()
    assert comes_true(lambda: not members(arm))


def test_sigkill_of_the_owner_kills_its_arms(start_arm: Callable[[], int]) -> None:
    running, paused = start_arm(), start_arm()
    os.killpg(paused, signal.SIGSTOP)
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(running), str(paused)],
        stdout=subprocess.PIPE,
        cwd=ROOT,
    )
    assert owner.stdout is not None
    assert owner.stdout.readline() == b"watching\n"
    reapers = psutil.Process(owner.pid).children()
    owner.kill()
    owner.communicate()
    assert comes_true(lambda: not members(running) and not members(paused))
    assert len(reapers) == 1
    assert comes_true(lambda: not reapers[0].is_running())


def test_a_ctrl_c_in_the_terminal_does_not_reach_the_reaper() -> None:
    reaper = Reaper()
    assert os.getsid(reaper._process.pid) != os.getsid(0)
    reaper.close()
