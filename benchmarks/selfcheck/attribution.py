"""The sleepers' parts, as the breakdown finds them, beside the truth."""

import argparse

from benchmarks.cell import Cell
from benchmarks.engine.launcher import Origin
from benchmarks.guards import PLAIN
from benchmarks.selfcheck.bench import SLEEPERS, opened
from benchmarks.selfcheck.sleepers import BATCH, LOAD_S, PARTS_S, seconds_per_step
from benchmarks.setting import Setting

HELP = "where a step's time goes, found in a workload of sleeps, beside the truth"
TOLERANCE = 0.02  # of the step


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--steps", type=int, default=100, help="default: 100")


def run(arguments: argparse.Namespace) -> int:
    cell = Cell(SLEEPERS, PLAIN, baseline=Setting(), device="cpu")
    truth_s = {"data": BATCH * LOAD_S, **PARTS_S, "communication": 0.0, "other": 0.0}
    step_s = seconds_per_step(0)
    with opened([cell], workload=SLEEPERS) as suite:
        arm = suite.start_arm(Origin(cell.workload), "tiny", Setting(), timeout_s=60.0)
        try:
            arm.first_step(60.0)
            arm.warm(60.0)
            order = {"do": "break_down", "steps": arguments.steps}
            found = arm.look(order, 120.0)["breakdown"]
        finally:
            arm.close()
    worst = 0.0
    for name, seconds in truth_s.items():
        share, true_share = found[f"{name}_s"] / found["step_s"], seconds / step_s
        worst = max(worst, abs(share - true_share))
        print(f"{name:14} {share:6.1%} of a step, truth {true_share:6.1%}")
    print(f"largest deviation {worst:.1%} of a step, allowed {TOLERANCE:.0%}")
    return 0 if worst <= TOLERANCE else 1
