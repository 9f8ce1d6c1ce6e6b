"""Sleeping items and steps through the real loader: throughput against the arithmetic."""

import argparse
import statistics
import time

from benchmarks.cell import Cell
from benchmarks.engine.experiment import steps_to_drain
from benchmarks.engine.launcher import Origin
from benchmarks.guards import PLAIN
from benchmarks.selfcheck.bench import SLEEPERS, opened
from benchmarks.selfcheck.sleepers import BATCH, seconds_per_step
from benchmarks.setting import Setting

HELP = "a workload of sleeps: measured throughput against the arithmetic, at 0, 1, 2, 4 workers"
TOLERANCE = 0.03
BLOCK_S = 1.0
PAUSE_S = 1.0


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--blocks", type=int, default=10, help="per number of workers (default: 10)"
    )


def run(arguments: argparse.Namespace) -> int:
    cell = Cell(SLEEPERS, PLAIN, baseline=Setting(), device="cpu")
    worst = 0.0
    with opened([cell], workload=SLEEPERS) as suite:
        for workers in (0, 1, 2, 4):
            setting = Setting(num_workers=workers)
            arm = suite.start_arm(Origin(cell.workload), "tiny", setting, timeout_s=60.0)
            try:
                arm.first_step(60.0)
                arm.warm(60.0)
                steps = round(BLOCK_S / seconds_per_step(workers))
                blocks = []
                for _ in range(arguments.blocks):  # as in an experiment, with the other arm's turn
                    drain = steps_to_drain(setting, seconds_per_step(workers))
                    blocks += arm.run(drain, steps, 1, 120.0)
                    arm.pause()
                    time.sleep(PAUSE_S)
                    arm.resume()
            finally:
                arm.close()
            # the median: a burst of foreign load is no fault of the suite's
            measured = statistics.median(block.units / block.seconds for block in blocks)
            truth = BATCH / seconds_per_step(workers)
            worst = max(worst, abs(measured / truth - 1))
            print(
                f"workers {workers}: {measured:6.1f} items/s, arithmetic {truth:6.1f}, "
                f"ratio {measured / truth:.3f}",
                flush=True,
            )
    print(f"largest deviation {worst:.1%}, allowed {TOLERANCE:.0%}")
    return 0 if worst <= TOLERANCE else 1
