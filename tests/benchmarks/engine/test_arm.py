"""Arms with real processes: what they report, how they pause, and how each way to fail shows."""

import os
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from benchmarks.engine.arm import Arm, ArmFault
from benchmarks.engine.channel import Door
from benchmarks.engine.launcher import Launcher
from benchmarks.engine.reaper import Reaper
from tests.benchmarks.live import comes_true, job, members

pytestmark = pytest.mark.skipif(os.name != "posix", reason="arms are paused by signals")

PROMPTLY_S = 20.0  # far from the limits that are passed: nothing here waits for one
LIMIT_S = 120.0
Start = Callable[..., Arm]


@pytest.fixture
def start(
    launcher: Launcher, reaper: Reaper, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Start]:
    """Starts an arm of a faulty workload; all are closed at the end, and nothing is left."""
    scratch = Path(tempfile.mkdtemp(prefix="t"))  # pytest's own is too long for a socket's path
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    arms: list[Arm] = []

    def start(name: str, **setting: Any) -> Arm:
        arms.append(Arm.start(launcher, reaper, job(name, tmp_path, **setting), LIMIT_S))
        return arms[-1]

    yield start
    for arm in arms:
        arm.close()
        assert not members(arm.pid)
    scratch.rmdir()  # which takes that they left no file


def through_its_life(arm: Arm) -> dict[str, Any]:
    """First step, warm-up, two blocks, evidence."""
    arm.first_step(LIMIT_S)
    arm.warm(LIMIT_S)
    arm.run(0, 2, 2, LIMIT_S)
    return arm.read_back(LIMIT_S)


def fault_of(start: Start, name: str, **setting: Any) -> ArmFault:
    """What becomes of an arm that fails, well before any limit."""
    began = time.monotonic()
    with pytest.raises(ArmFault) as caught:
        through_its_life(start(name, **setting))
    assert time.monotonic() - began < PROMPTLY_S
    assert "\n" not in caught.value.reason
    return caught.value


@pytest.mark.parametrize(
    ("setting", "processes"),
    [
        pytest.param({}, 1, id="single"),
        pytest.param({"num_workers": 2}, 3, id="workers2"),
        pytest.param({"parallel": "ddp2"}, 3, id="ddp2"),
        pytest.param({"parallel": "ddp2", "num_workers": 1}, 5, id="ddp2-workers1"),
    ],
)
def test_an_arm_does_what_it_is_told(start: Start, setting: dict[str, Any], processes: int) -> None:
    arm = start("fine", **setting)
    first = arm.first_step(LIMIT_S)
    world = 2 if "parallel" in setting else 1
    assert first["batch"] == 4
    assert first["units_per_step"] == 4 * world
    assert arm.warm(LIMIT_S) > 0
    blocks = arm.run(3, 5, 2, LIMIT_S)
    assert [(block.steps, block.units) for block in blocks] == [(5, 20 * world)] * 2
    assert all(block.seconds >= 5 * 0.002 for block in blocks)
    assert len(members(arm.pid)) == processes
    evidence = arm.read_back(LIMIT_S)
    assert evidence["world_size"] == world
    assert evidence["loader_workers"] == setting.get("num_workers", 0)
    assert evidence["steps"] == 1 + 1 + 3 + 10
    assert evidence["parameter_spread"] == 0.0
    assert len(evidence["losses"]) == 8
    arm.leave()
    assert comes_true(lambda: not members(arm.pid))


@pytest.mark.parametrize("setting", [{"num_workers": 2}, {"parallel": "ddp2", "num_workers": 1}])
def test_a_paused_arm_stands_still_with_all_its_processes(
    start: Start, setting: dict[str, Any]
) -> None:
    arm = start("fine", **setting)
    arm.first_step(LIMIT_S)
    arm.warm(LIMIT_S)
    arm.pause()
    assert comes_true(lambda: {p.status() for p in members(arm.pid)} == {psutil.STATUS_STOPPED})
    assert len(members(arm.pid)) > 2
    arm.resume()
    assert len(arm.run(0, 2, 1, LIMIT_S)) == 1


def test_a_paused_arm_is_closed_with_all_its_processes(start: Start) -> None:
    arm = start("fine", num_workers=2)
    arm.first_step(LIMIT_S)
    arm.pause()
    arm.close()
    assert not members(arm.pid)
    arm.close()


def test_an_arm_that_raises_says_what_and_its_last_words(start: Start) -> None:
    fault = fault_of(start, "raises")
    assert (fault.outcome, fault.reason) == ("failed", "rank 0: ArithmeticError: on purpose")
    assert fault.log[-2:] == ["ArithmeticError: on purpose", "with a second line"]
    assert len(fault.log) <= 20


def test_an_arm_that_raises_in_a_later_block_says_so_too(start: Start) -> None:
    fault = fault_of(start, "raises_later")
    assert (fault.outcome, fault.reason) == ("failed", "rank 0: ArithmeticError: on purpose")


def test_a_segfault_is_named(start: Start) -> None:
    fault = fault_of(start, "segfaults")
    assert (fault.outcome, fault.reason) == ("failed", "killed by SIGSEGV")
    assert "its last words" in fault.log


def test_a_killed_arm_hints_at_the_kernel(start: Start) -> None:
    fault = fault_of(start, "is_killed")
    assert fault.outcome == "failed"
    assert fault.reason == "killed by SIGKILL (the kernel kills so when memory runs out)"


def test_an_arm_that_exits_is_no_success(start: Start) -> None:
    fault = fault_of(start, "exits")
    assert (fault.outcome, fault.reason) == ("failed", "exited with status 3")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("exhausts_memory", r"rank 0: RuntimeError: .*can't allocate memory.*"),
        ("exhausts_python_memory", r"rank 0: MemoryError: no message"),
    ],
)
def test_memory_that_runs_out_is_an_outcome_of_its_own(
    start: Start, name: str, reason: str
) -> None:
    fault = fault_of(start, name)
    assert fault.outcome == "out_of_memory"
    assert re.fullmatch(reason, fault.reason)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("loses_a_worker", "RuntimeError: DataLoader worker (pid"),
        ("raises_in_a_worker", "ArithmeticError"),
    ],
)
def test_a_loader_worker_that_dies_ends_its_arm(start: Start, name: str, reason: str) -> None:
    fault = fault_of(start, name, num_workers=2)
    assert fault.outcome == "failed"
    assert reason in fault.reason


@pytest.mark.parametrize(
    ("name", "outcome", "reason"),
    [
        ("rank1_raises", "failed", "rank 1: ArithmeticError: on purpose"),
        ("rank1_segfaults", "failed", "rank 1: killed by SIGSEGV"),
        ("rank1_is_killed", "failed", "rank 1: killed by SIGKILL"),
        ("rank1_exhausts_memory", "out_of_memory", "rank 1: RuntimeError: "),
    ],
)
def test_the_rank_that_failed_is_named_not_the_one_that_noticed(
    start: Start, name: str, outcome: str, reason: str
) -> None:
    fault = fault_of(start, name, parallel="ddp2")
    assert (fault.outcome, fault.reason[: len(reason)]) == (outcome, reason)


@pytest.mark.parametrize("setting", [{}, {"num_workers": 2}, {"parallel": "ddp2"}])
def test_an_arm_that_hangs_in_its_first_step_is_given_up(
    start: Start, setting: dict[str, Any]
) -> None:
    arm = start("hangs", **setting)
    with pytest.raises(ArmFault) as caught:
        arm.first_step(1.0)
    assert caught.value.outcome == "timed_out"
    assert caught.value.reason == "did not finish its first step within 1 s"


@pytest.mark.parametrize(
    ("name", "setting"), [("hangs_later", {}), ("rank1_hangs", {"parallel": "ddp2"})]
)
def test_an_arm_that_hangs_in_a_block_is_given_up(
    start: Start, name: str, setting: dict[str, Any]
) -> None:
    arm = start(name, **setting)
    arm.first_step(LIMIT_S)
    arm.warm(LIMIT_S)
    with pytest.raises(ArmFault) as caught:
        arm.run(0, 2, 2, 0.5)
    assert (caught.value.outcome, caught.value.reason[:24]) == (
        "timed_out",
        "did not finish a block w",
    )


def test_an_arm_that_does_not_come_up_is_given_up(
    launcher: Launcher, reaper: Reaper, tmp_path: Path
) -> None:
    with pytest.raises(ArmFault, match=r"was not ready within 0 s") as caught:
        Arm.start(launcher, reaper, job("fine", tmp_path, parallel="ddp2"), 0.0)
    assert caught.value.outcome == "timed_out"


def test_a_ctrl_c_while_an_arm_comes_up_leaves_nothing(
    launcher: Launcher, reaper: Reaper, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[int] = []

    def interrupted(door: Door, timeout_s: float, alive: Callable[[], bool]) -> None:
        raise KeyboardInterrupt

    def watched(leader: int) -> None:
        started.append(leader)

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(Door, "accept", interrupted)
    monkeypatch.setattr(reaper, "watch", watched)
    with pytest.raises(KeyboardInterrupt):
        Arm.start(launcher, reaper, job("fine", tmp_path), LIMIT_S)
    assert len(started) == 1
    assert comes_true(lambda: not members(started[0]))
    assert not list(tmp_path.glob("arm-*"))


def test_killed_arms_leave_nothing_in_shared_memory(start: Start) -> None:
    before = set(Path("/dev/shm").glob("*")) if Path("/dev/shm").is_dir() else set()
    for _ in range(3):
        arm = start("fine", num_workers=2)
        arm.first_step(LIMIT_S)
        arm.close()
    mine = {path for path in set(Path("/dev/shm").glob("*")) - before if "torch" in path.name}
    assert not mine
