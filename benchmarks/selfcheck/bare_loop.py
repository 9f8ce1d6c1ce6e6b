"""The suite's step against a bare loop's, measured by the suite's own experiment.

One arm is the suite's, the other a plain script in a process of its own that times itself.
"""

import argparse
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import Any

from benchmarks.arm import TimedBlock
from benchmarks.cell import Cell
from benchmarks.experiment import BASELINE, CANDIDATE, Experiment, Plan, RunningArm
from benchmarks.guards import PLAIN
from benchmarks.launcher import Environment, Origin
from benchmarks.selfcheck.bench import opened
from benchmarks.setting import Setting
from benchmarks.telemetry import Telemetry
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
            process_group=0,
        )
        self.pid = self._process.pid

    def first_step(self, timeout_s: float) -> Mapping[str, Any]:
        self._line(timeout_s)
        return {
            "seconds": self._train(1, timeout_s),
            "units_per_step": self._units,
            "unit": "samples",
            "batch": self._units,
            "gpus": [],
        }

    def warm(self, timeout_s: float) -> float:
        return [self._train(1, timeout_s) for _ in range(3)][-1]

    def run(self, drain: int, steps: int, blocks: int, timeout_s: float) -> list[TimedBlock]:
        if drain:
            self._train(drain, timeout_s)
        seconds = [self._train(steps, timeout_s) for _ in range(blocks)]
        return [TimedBlock(steps, steps * self._units, each, (each / steps,)) for each in seconds]

    def busy_s(self) -> float:
        """Not asked for: a bare loop is never given up."""
        return 0.0

    def read_back(self, timeout_s: float) -> dict[str, Any]:
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

    def _train(self, steps: int, timeout_s: float) -> float:
        assert self._process.stdin is not None
        print(steps, file=self._process.stdin, flush=True)
        return float(self._line(timeout_s))

    def _line(self, timeout_s: float) -> str:
        assert self._process.stdout is not None
        if not select.select([self._process.stdout], [], [], timeout_s)[0]:
            raise TimeoutError("the bare loop hangs")
        return self._process.stdout.readline()


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
        measured = Experiment(plan, settings, launch, telemetry, time.monotonic).run()
        notes = telemetry.notes()
    found = estimate([-ratio for ratio in measured.log_ratios])  # of step times, not throughputs
    print(
        f"suite's step time / bare loop's: {found.speedup:.4f} "
        f"({found.low:.4f} to {found.high:.4f}) over {len(measured.log_ratios)} starts"
    )
    print("\n".join(notes), file=sys.stderr)
    return 0


def cell_units(cell: Cell) -> int:
    """Units of a plain step, as the suite's arm counts them."""
    from workloads import load

    scale = load(cell.workload).scale("tiny")
    return scale.batch * scale.units
