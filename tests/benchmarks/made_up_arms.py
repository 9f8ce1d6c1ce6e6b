"""A machine that is not there: arms of known speed on a clock that only their work moves."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from benchmarks.engine.arm import ArmFault, TimedBlock
from benchmarks.engine.experiment import BASELINE, CANDIDATE, Experiment, Plan
from benchmarks.setting import Setting

PLAN = Plan(starts=4, pairs=4, block_s=0.5, warm_up_s=1.0)  # tests say where theirs differs
HANGS = 1e9  # seconds: longer than anybody waits


@dataclass
class Speed:
    """What an arm takes, in seconds; `warm_up_s` beside the first step."""

    step_s: float = 0.05
    launch_s: float = 0.2
    cold_s: float = 0.5
    warm_up_s: float = 1.0


@dataclass
class Machine:
    """Runs arms, at most one at a time, and notes down all that they were told.

    speeds: by arm. drift: every timed block takes e to the drift longer than the one before.
    slowed: (arm, start) -> how many times longer its steps take in that start.
    raises: (arm, what it is told, start) -> what goes wrong then.
    """

    speeds: dict[str, Speed] = field(
        default_factory=lambda: {BASELINE: Speed(), CANDIDATE: Speed()}
    )
    settings: dict[str, Setting] = field(
        default_factory=lambda: {BASELINE: Setting(), CANDIDATE: Setting(num_workers=2)}
    )
    units_per_step: dict[str, int] = field(default_factory=lambda: {BASELINE: 8, CANDIDATE: 8})
    batch: dict[str, int] = field(default_factory=lambda: {BASELINE: 8, CANDIDATE: 8})
    evidence: dict[str, dict[str, Any]] = field(
        default_factory=lambda: {BASELINE: {}, CANDIDATE: {}}
    )
    busy_s: dict[str, float] = field(default_factory=lambda: {BASELINE: 1e9, CANDIDATE: 1e9})
    slowed: dict[tuple[str, int], float] = field(default_factory=dict)
    raises: dict[tuple[str, str, int], BaseException] = field(default_factory=dict)
    drift: Callable[[int], float] = lambda block: 1.0
    now_s: float = 0.0
    arms: "list[MadeUpArm]" = field(default_factory=list)
    told: list[tuple[str, str]] = field(default_factory=list)
    timed_blocks: int = 0

    def clock(self) -> float:
        return self.now_s

    def launch(self, name: str, timeout_s: float) -> "MadeUpArm":
        start = sum(arm.name == name for arm in self.arms)
        self.told.append((name, "launch"))
        self.go_wrong(name, "launch", start)
        self.wait(self.speeds[name].launch_s, timeout_s)
        arm = MadeUpArm(self, name, start)
        arm.becomes("running")
        return arm

    def experiment(self, observer: "Watcher | None" = None, **plan: Any) -> Experiment:
        """An experiment on this machine; `plan` replaces what a Plan has by default."""
        return Experiment(
            replace(PLAN, **plan), self.settings, self.launch, observer or Watcher(), self.clock
        )

    def wait(self, needed_s: float, timeout_s: float) -> None:
        self.now_s += min(needed_s, timeout_s)
        if needed_s > timeout_s:
            raise ArmFault("timed_out", f"not within {timeout_s:.0f} s")

    def go_wrong(self, name: str, what: str, start: int) -> None:
        if (name, what, start) in self.raises:
            raise self.raises[name, what, start]

    @property
    def launched(self) -> list[str]:
        return [name for name, what in self.told if what == "launch"]


class MadeUpArm:
    """As `arm.Arm`; refuses to work unless it runs, and to run beside another."""

    def __init__(self, machine: Machine, name: str, start: int) -> None:
        self.machine = machine
        self.name = name
        self.start = start
        self.pid = 1000 + len(machine.arms)
        self.step_s = machine.speeds[name].step_s * machine.slowed.get((name, start), 1.0)
        self.state = "new"
        self.runs: list[tuple[int, int, int]] = []  # drain, steps, blocks
        machine.arms.append(self)

    def becomes(self, state: str) -> None:
        self.state = state
        running = [arm.name for arm in self.machine.arms if arm.state == "running"]
        assert len(running) <= 1, f"{running} run at the same time"

    def _is_told(self, what: str) -> Speed:
        self.machine.told.append((self.name, what))
        self.machine.go_wrong(self.name, what, self.start)
        return self.machine.speeds[self.name]

    def _works(self, what: str) -> Speed:
        speed = self._is_told(what)
        assert self.state == "running", f"{self.name} is to {what}, but is {self.state}"
        return speed

    def first_step(self, timeout_s: float) -> Mapping[str, Any]:
        speed = self._works("first_step")
        self.machine.wait(speed.cold_s, timeout_s)
        units = self.machine.units_per_step[self.name]
        return {
            "seconds": speed.cold_s,
            "units_per_step": units,
            "unit": "images",
            "batch": self.machine.batch[self.name],
            "gpus": [],
        }

    def warm(self, timeout_s: float) -> float:
        speed = self._works("warm")
        self.machine.wait(speed.warm_up_s, timeout_s)
        return self.step_s

    def run(self, drain: int, steps: int, blocks: int, timeout_s: float) -> list[TimedBlock]:
        self._works("run")
        self.runs.append((drain, steps, blocks))
        self.machine.now_s += drain * self.step_s
        return [self._block(steps) for _ in range(blocks)]

    def _block(self, steps: int) -> TimedBlock:
        step_s = self.step_s * self.machine.drift(self.machine.timed_blocks)
        self.machine.timed_blocks += 1
        self.machine.now_s += steps * step_s
        units = steps * self.machine.units_per_step[self.name]
        return TimedBlock(steps, units, steps * step_s, (step_s,) * steps)

    def busy_s(self) -> float:
        return self.machine.busy_s[self.name]

    def read_back(self, timeout_s: float, *, observe: bool = True) -> dict[str, Any]:
        self._works("read_back")
        return self.machine.evidence[self.name]

    def pause(self) -> None:
        self._is_told("pause")
        assert self.state == "running", f"{self.name} is paused, but is {self.state}"
        self.becomes("paused")

    def resume(self) -> None:
        self._is_told("resume")
        assert self.state == "paused", f"{self.name} is resumed, but is {self.state}"
        self.becomes("running")

    def leave(self) -> None:
        self._works("leave")
        self.becomes("left")

    def close(self) -> None:
        self.becomes("closed")
        self._is_told("close")


class Watcher:
    """As telemetry: notes who ran, for how many samples, and that turns do not overlap."""

    def __init__(self) -> None:
        self.pids: list[tuple[str, int]] = []
        self.turns: list[tuple[str, int]] = []
        self._running: str | None = None

    def arm_started(self, arm: str, pid: int, gpus: Sequence[str]) -> None:
        self.pids.append((arm, pid))

    def run_begins(self, arm: str) -> None:
        self._running = arm

    def run_ends(self, arm: str, samples: int) -> None:
        assert self._running == arm
        self.turns.append((arm, samples))
