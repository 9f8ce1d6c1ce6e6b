"""The suite's step against a bare loop's, measured by the suite's own experiment.

One arm is the suite's, the other a plain script in a process of its own that times itself. Beside
the times, which a busy machine spreads, stand page faults a step, which it does not: two loops
that do the same work fault alike.
"""

import argparse
import os
import select
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.cell import Cell
from benchmarks.engine.arm import TimedBlock
from benchmarks.engine.experiment import BASELINE, CANDIDATE, CPU_PLAN, Experiment, Plan, RunningArm
from benchmarks.engine.launcher import Environment, Origin
from benchmarks.guards import PLAIN
from benchmarks.selfcheck.bench import opened
from benchmarks.setting import Setting
from benchmarks.telemetry.telemetry import Telemetry
from results.statistics import estimate

HELP = "the suite's step time over a bare loop's in a process of its own, in turns"


class BareArm:
    """`bare.py` behind the interface of an arm."""

    def __init__(self, workload: str, scale: str, cache: str, units_per_step: int) -> None:
        self._units = units_per_step
        self._began = time.monotonic()
        environment = Environment()
        self._process = subprocess.Popen(
            [environment.python, "-m", "benchmarks.selfcheck.bare", workload, scale, cache],
            env=environment.process_variables(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # as the fork server: the kernel shares cores out by session
        )
        self.pid = self._process.pid

    def first_step(self, timeout_s: float) -> Mapping[str, Any]:
        self._line(timeout_s)
        return {
            "seconds": self._train(timeout_s, 1)[0],
            "units_per_step": self._units,
            "unit": "samples",
            "batch": self._units,
            "gpus": [],
        }

    def warm(self, timeout_s: float) -> float:
        """As long as the suite's arm at most: malloc's heap settles meanwhile."""
        deadline, step_s = time.monotonic() + CPU_PLAN.warm_up_s, 0.0
        while step_s == 0.0 or time.monotonic() < deadline:
            [step_s] = self._train(timeout_s, 1)
        return step_s

    def run(self, drain: int, steps: int, blocks: int, timeout_s: float) -> list[TimedBlock]:
        seconds = self._train(timeout_s, drain, *[steps] * blocks)[1:]
        return [TimedBlock(steps, steps * self._units, each, (each / steps,)) for each in seconds]

    def busy_s(self) -> float:
        """Not asked for: a bare loop is never given up."""
        return 0.0

    def read_back(self, timeout_s: float, *, observe: bool = True) -> dict[str, Any]:
        return {}

    def pause(self) -> None:
        os.killpg(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        os.killpg(self.pid, signal.SIGCONT)

    def leave(self) -> None:
        """It has nothing to give back."""

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()

    def _train(self, timeout_s: float, *steps: int) -> list[float]:
        """Seconds of each run of so many steps, one right after the other."""
        assert self._process.stdin is not None
        print(*steps, file=self._process.stdin, flush=True)
        return [float(seconds) for seconds in self._line(timeout_s).split()]

    def _line(self, timeout_s: float) -> str:
        assert self._process.stdout is not None
        if not select.select([self._process.stdout], [], [], timeout_s)[0]:
            raise TimeoutError("the bare loop hangs")
        return self._process.stdout.readline()


class Faults:
    """Page faults of each arm, while it runs: what telemetry tells, passed on."""

    def __init__(self, telemetry: Telemetry, units_per_step: int) -> None:
        self._telemetry = telemetry
        self._units = units_per_step
        self._pids: dict[str, int] = {}
        self._before = 0
        self._faults: Counter[str] = Counter()
        self._steps: Counter[str] = Counter()

    def arm_started(self, arm: str, pid: int, gpus: Sequence[str]) -> None:
        self._pids[arm] = pid
        self._telemetry.arm_started(arm, pid, gpus)

    def run_begins(self, arm: str) -> None:
        self._telemetry.run_begins(arm)
        self._before = minor_faults(self._pids[arm])

    def run_ends(self, arm: str, samples: int) -> None:
        self._faults[arm] += minor_faults(self._pids[arm]) - self._before
        self._steps[arm] += samples // self._units
        self._telemetry.run_ends(arm, samples)

    def a_step(self, arm: str) -> float:
        return self._faults[arm] / self._steps[arm]


def minor_faults(pid: int) -> int:
    """Pages that the process (its threads, not its children) has had to fault in so far."""
    stat = Path(f"/proc/{pid}/stat").read_text()
    return int(stat[stat.rindex(")") :].split()[8])  # see proc(5); the name may hold blanks


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--workload", default="resnet18")
    parser.add_argument("--starts", type=int, default=8, help="default: 8")


def run(arguments: argparse.Namespace) -> int:
    cell = Cell(arguments.workload, PLAIN, baseline=Setting(), device="cpu")
    plan = Plan(starts=arguments.starts, limit_s=3600.0)
    with opened([cell], workload=arguments.workload) as suite, Telemetry() as telemetry:

        def launch(arm: str, timeout_s: float) -> RunningArm:
            if arm == CANDIDATE:
                return suite.start_arm(Origin(cell.workload), "tiny", Setting(), timeout_s)
            return BareArm(cell.workload, "tiny", str(suite.options.cache), cell_units(cell))

        settings = {BASELINE: Setting(), CANDIDATE: Setting()}
        faults = Faults(telemetry, cell_units(cell))
        measured = Experiment(plan, settings, launch, faults, time.monotonic).run()
        notes = telemetry.notes()
    found = estimate([-ratio for ratio in measured.log_ratios])  # of step times, not throughputs
    print(
        f"suite's step time / bare loop's: {found.speedup:.4f} "
        f"({found.low:.4f} to {found.high:.4f}) over {len(measured.log_ratios)} starts"
    )
    print(
        f"page faults a step: suite's {faults.a_step(CANDIDATE):,.0f}, "
        f"bare loop's {faults.a_step(BASELINE):,.0f}"
    )
    print("\n".join(notes), file=sys.stderr)
    return 0


def cell_units(cell: Cell) -> int:
    """Units of a plain step, as the suite's arm counts them."""
    from workloads import load

    scale = load(cell.workload).scale("tiny")
    return scale.batch * scale.units
