"""What watching costs: the same training, watched in one arm and not in the other."""

import argparse
import time
from collections.abc import Sequence

from benchmarks.cell import Cell
from benchmarks.engine.arm import Arm
from benchmarks.engine.experiment import BASELINE, CANDIDATE, Experiment, Plan
from benchmarks.engine.launcher import Origin
from benchmarks.guards import PLAIN
from benchmarks.selfcheck.bench import opened
from benchmarks.setting import Setting
from benchmarks.telemetry.telemetry import Telemetry
from results.statistics import estimate

HELP = "throughput with telemetry over throughput without, in turns"


class WatchOne:
    """Telemetry that looks only while one of the two arms runs."""

    def __init__(self, telemetry: Telemetry, watched: str) -> None:
        self._telemetry = telemetry
        self._watched = watched

    def arm_started(self, arm: str, pid: int, gpus: Sequence[str]) -> None:
        if arm == self._watched:
            self._telemetry.arm_started(arm, pid, gpus)

    def run_begins(self, arm: str) -> None:
        if arm == self._watched:
            self._telemetry.run_begins(arm)

    def run_ends(self, arm: str, samples: int) -> None:
        if arm == self._watched:
            self._telemetry.run_ends(arm, samples)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--workload", default="resnet18")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--starts", type=int, default=8, help="default: 8")


def run(arguments: argparse.Namespace) -> int:
    setting = Setting(device=arguments.device)
    cell = Cell(arguments.workload, PLAIN, baseline=setting, device=arguments.device)
    plan = Plan(starts=arguments.starts, limit_s=3600.0)
    with opened([cell], workload=arguments.workload) as suite, Telemetry() as telemetry:

        def launch(arm: str, timeout_s: float) -> Arm:
            return suite.start_arm(Origin(cell.workload), suite.scale_of(cell), setting, timeout_s)

        watched = WatchOne(telemetry, CANDIDATE)
        settings = {BASELINE: setting, CANDIDATE: setting}
        measured = Experiment(plan, settings, launch, watched, time.monotonic).run()
    found = estimate(measured.log_ratios)
    print(
        f"throughput watched / unwatched: {found.speedup:.4f} "
        f"({found.low:.4f} to {found.high:.4f}) over {len(measured.log_ratios)} starts"
    )
    return 0
