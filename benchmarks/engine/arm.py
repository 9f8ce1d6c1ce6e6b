"""One running training as pytest sees it: started, given orders, paused, stopped."""

import json
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from benchmarks.engine.channel import Channel, ChannelClosed, Door, Message
from benchmarks.engine.launcher import Job, Launcher, Process
from benchmarks.engine.reaper import Reaper, is_gone, kill_arm
from benchmarks.telemetry import processes

CAN_PAUSE = os.name == "posix"
LOG_LINES = 20  # of what a failed arm said, kept in the record
AGENT_NOTICES_S = 5.0  # a rank's death shows first as a closed channel, then as the leader's end
GROUP_ENDS_S = 1.0  # for children of a killed leader; longer only where nobody collects zombies


class ArmFault(Exception):
    """An arm did not do what it was ordered to: an outcome of the record, one line of reason."""

    def __init__(self, outcome: str, reason: str, log: Sequence[str] = ()) -> None:
        super().__init__(reason)
        self.outcome = outcome
        self.reason = reason
        self.log = list(log)


@dataclass(frozen=True, kw_only=True)
class Opening:
    """How an arm came to life: seconds to its first step's end, of that step, of a warm one."""

    launch_s: float
    cold_s: float
    step_s: float
    units_per_step: int
    unit: str
    batch: int
    gpus: tuple[str, ...]


@dataclass(frozen=True)
class TimedBlock:
    """`steps` steps timed as one, and each step's own seconds."""

    steps: int
    units: int
    seconds: float
    step_s: tuple[float, ...] = field(repr=False)


class Arm:
    """Rank 0 behind a channel, and the process group of everything the arm started."""

    def __init__(self, process: Process, channel: Channel, reaper: Reaper, folder: Path) -> None:
        self._process = process
        self._channel = channel
        self._reaper = reaper
        self._folder = folder
        self.pid = process.pid

    @classmethod
    def start(cls, launcher: Launcher, reaper: Reaper, job: Job, timeout_s: float) -> Self:
        """Start the processes; returns when rank 0 has built its training and reported.

        Raises:
            ArmFault: it died or did not report within `timeout_s` seconds.
        """
        folder = Path(tempfile.mkdtemp(prefix="arm-"))
        door = Door()
        try:
            process = launcher.start(
                {
                    **job,
                    "port": door.port,
                    "token": door.token,
                    "log": str(folder / "log"),
                    "fault": str(folder / "fault.json"),
                }
            )
            reaper.watch(process.pid)
            channel = None
            try:
                channel = door.accept(timeout_s, alive=lambda: process.exit_status() is None)
                if channel is None:
                    raise explain(process, folder, f"was not ready within {timeout_s:.0f} s")
            finally:
                if channel is None:  # a Ctrl-C while waiting, too
                    end(process, reaper, folder)
            return cls(process, channel, reaper, folder)
        finally:
            door.close()

    def first_step(self, timeout_s: float) -> Message:
        return self._answer(timeout_s, "did not finish its first step")

    def warm(self, timeout_s: float) -> float:
        """Wait for the end of warm-up; the seconds of a settled step."""
        return float(self._answer(timeout_s, "did not warm up")["step_s"])

    def run(self, drain: int, steps: int, blocks: int, timeout_s: float) -> list[TimedBlock]:
        order = {"do": "run", "drain": drain, "steps": steps, "blocks": blocks}
        answer = self._ask(order, timeout_s, "did not finish a block")
        return [
            TimedBlock(block["steps"], block["units"], block["seconds"], tuple(block["step_s"]))
            for block in answer["blocks"]
        ]

    def busy_s(self) -> float:
        """CPU seconds of all its processes so far."""
        table = processes.snapshot()
        return processes.cpu_seconds(table, processes.tree_pids(table, self.pid)) or 0.0

    def read_back(self, timeout_s: float, *, observe: bool = True) -> dict[str, Any]:
        """What the ranks found true of themselves: see `evidence.read_back`.

        observe: and what one more step really runs, see `observation.observe`.
        """
        order = {"do": "read_back", "observe": observe}
        evidence: dict[str, Any] = self._ask(order, timeout_s, "hung at its end")["evidence"]
        return evidence

    def look(self, order: Message, timeout_s: float) -> Message:
        """Have the ranks look at themselves: an order of `rank.Orders`, and its answer."""
        return self._ask(order, timeout_s, f"did not {order['do']}")

    def pause(self) -> None:
        """Stop every process, loader workers included: none takes CPU time from the other arm."""
        if CAN_PAUSE:
            self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        if CAN_PAUSE:
            self._signal(signal.SIGCONT)

    def leave(self) -> None:
        """Ask the ranks to end by themselves: loader workers then give back shared memory."""
        try:
            self._ask({"do": "leave"}, 5.0, "did not leave")
            wait_for_end(self._process, 5.0)
        except ArmFault:
            pass  # it will be killed: nothing is lost any more

    def close(self) -> None:
        """Kill whatever is left of it. Idempotent."""
        self._channel.close()
        end(self._process, self._reaper, self._folder)

    def _signal(self, number: int) -> None:
        try:
            os.killpg(self.pid, number)
        except ProcessLookupError as error:
            raise self._fault("ended") from error

    def _ask(self, order: Message, timeout_s: float, complaint: str) -> Message:
        try:
            self._channel.send(order)
        except ChannelClosed as error:
            raise self._fault("closed its channel") from error
        return self._answer(timeout_s, complaint)

    def _answer(self, timeout_s: float, complaint: str) -> Message:
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            try:
                # in slices, since loader workers hold the channel open when their rank has died
                message = self._channel.receive(min(0.2, max(0.0, deadline - time.monotonic())))
            except ChannelClosed as error:
                wait_for_end(self._process, AGENT_NOTICES_S)
                raise self._fault("closed its channel") from error
            if message is not None:
                return message
            if self._process.exit_status() is not None:
                raise self._fault("ended")
        raise self._fault(f"{complaint} within {timeout_s:.0f} s")

    def _fault(self, what: str) -> ArmFault:
        return explain(self._process, self._folder, what)


def explain(process: Process, folder: Path, what: str) -> ArmFault:
    """The fault of an arm that is no longer useful, from what it left behind."""
    log = last_lines(folder / "log")
    try:
        told = json.loads((folder / "fault.json").read_text())
    except (OSError, ValueError):
        told = None
    if told and told["outcome"] == "skipped":  # true of every rank
        return ArmFault("skipped", told["reason"])
    if told:
        return ArmFault(told["outcome"], f"rank {told['rank']}: {told['reason']}", log)
    status = process.exit_status()
    if status is None:
        return ArmFault("timed_out", what, log)
    return ArmFault("failed", describe_status(status), log)


def describe_status(status: int) -> str:
    if status >= 0:
        return f"exited with status {status}"
    hint = " (the kernel kills so when memory runs out)" if -status == 9 else ""
    return f"killed by {signal.Signals(-status).name}{hint}"


def last_lines(path: Path) -> list[str]:
    try:
        return path.read_text(errors="replace").splitlines()[-LOG_LINES:]
    except OSError:
        return []


def wait_for_end(process: Process, timeout_s: float) -> None:
    deadline = time.monotonic() + timeout_s
    while process.exit_status() is None and time.monotonic() < deadline:
        time.sleep(0.005)


def end(process: Process, reaper: Reaper, folder: Path) -> None:
    """Kill the arm's processes, wait until they are gone, and remove its folder."""
    kill_arm(process.pid)
    wait_for_end(process, 10.0)
    deadline = time.monotonic() + GROUP_ENDS_S
    while not is_gone(process.pid) and time.monotonic() < deadline:
        time.sleep(0.005)
    reaper.forget(process.pid)
    shutil.rmtree(folder, ignore_errors=True)
