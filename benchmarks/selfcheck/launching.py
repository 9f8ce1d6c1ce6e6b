"""How long a start takes: from asking for an arm to the end of its first step."""

import argparse
import statistics
import time

from benchmarks.cell import Cell
from benchmarks.engine.launcher import Origin
from benchmarks.guards import PLAIN
from benchmarks.selfcheck.bench import opened
from benchmarks.setting import Setting

HELP = "seconds from asking for an arm to its first step, for one rank, with workers, and for ddp2"
SETTINGS = {
    "plain": Setting(),
    "workers2": Setting(num_workers=2),
    "ddp2": Setting(parallel="ddp2"),
}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--workload", default="resnet18")
    parser.add_argument("--times", type=int, default=8, help="default: 8")


def run(arguments: argparse.Namespace) -> int:
    cell = Cell(arguments.workload, PLAIN, baseline=Setting(), device="cpu")
    with opened([cell], workload=arguments.workload) as suite:
        for name, setting in SETTINGS.items():
            launches, firsts = [], []
            for _ in range(arguments.times):
                began = time.monotonic()
                arm = suite.start_arm(Origin(cell.workload), "tiny", setting, timeout_s=120.0)
                try:
                    firsts.append(float(arm.first_step(120.0)["seconds"]))
                    launches.append(time.monotonic() - began)
                finally:
                    arm.close()
            before = [all_ - first for all_, first in zip(launches, firsts, strict=True)]
            print(
                f"{name}: {statistics.median(launches):.2f} s (slowest {max(launches):.2f}), "
                f"{statistics.median(before):.2f} s of it before the first step began",
                flush=True,
            )
    return 0
