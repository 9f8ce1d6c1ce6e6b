"""A/A: the plain setting against itself, many times. The truth is 1.00 every time."""

import argparse
import statistics

from benchmarks.cell import Cell
from benchmarks.guards import PLAIN
from benchmarks.measuring import measure_cell
from benchmarks.progress import result_line
from benchmarks.selfcheck.bench import opened
from benchmarks.setting import Setting

HELP = "A/A cells: spread of the estimate, and how many intervals hold 1.00"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--cells", type=int, default=40, help="how many (default: 40)")
    parser.add_argument("--workload", default="resnet18")
    parser.add_argument("--starts", default="4")
    parser.add_argument("--steady-malloc", action="store_true", help="as of pytest's option")


def run(arguments: argparse.Namespace) -> int:
    cell = Cell(arguments.workload, PLAIN, baseline=Setting(), device="cpu")
    records = []
    words = {"workload": arguments.workload, "starts": arguments.starts}
    if arguments.steady_malloc:
        words["steady_malloc"] = "yes"
    with opened([cell], **words) as suite:
        for number in range(arguments.cells):
            records.append(measure_cell(suite, f"control[{number}]", cell))
            print(result_line(records[-1]), flush=True)
        folder = suite.run.path
    measured = [r for r in records if r.outcome == "ok" and r.speedup_low and r.speedup_high]
    if len(measured) < 2:
        print("too few cells were measured to say anything")
        return 1
    print(f"\n{summary([r.log_ratios for r in measured])}")
    holding = sum((r.speedup_low or 0) <= 1 <= (r.speedup_high or 0) for r in measured)
    print(f"intervals that hold 1.00: {holding} of {len(measured)}")
    wall_s, timed_s = (sum(getattr(r, name) for r in measured) for name in ("wall_s", "timed_s"))
    print(f"a cell took {wall_s / len(measured):.1f} s, {timed_s / wall_s:.0%} of it timed blocks")
    print(f"records: {folder}")
    return 0


def summary(log_ratios: list[list[float]]) -> str:
    """Spread of the estimates over cells, and of the starts within cells, in percent."""
    estimates = [statistics.mean(ratios) for ratios in log_ratios]
    within = statistics.mean(statistics.variance(ratios) for ratios in log_ratios) ** 0.5
    swapped = [statistics.mean(r[1::2]) - statistics.mean(r[::2]) for r in log_ratios]
    return (
        f"{len(estimates)} cells: mean ratio {1 + statistics.mean(estimates):.4f}, "
        f"SD of the estimate {statistics.stdev(estimates):.2%}, "
        f"SD between starts {within:.2%}, "
        f"left of the launch order {statistics.mean(swapped) / 2:+.2%}"
    )
