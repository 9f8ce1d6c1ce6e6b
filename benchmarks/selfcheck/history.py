"""`python -m results history` over many made-up runs: it must stay a matter of seconds."""

import argparse
import math
import random
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.engine.launcher import ROOT
from results.record import Record, StepTimes
from results.store import RunFolder

HELP = "seconds of `python -m results history` over 1,000 runs of 100 cells"
LIMIT_S = 10.0
STARTS, PAIRS = 6, 2
FIRST = datetime(2026, 1, 1, tzinfo=UTC)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--stored", type=int, default=1000, help="runs (default: 1000)")
    parser.add_argument("--cells", type=int, default=100, help="in each (default: 100)")


def run(arguments: argparse.Namespace) -> int:
    with tempfile.TemporaryDirectory() as folder:
        write_runs(Path(folder), arguments.stored, arguments.cells)
        began = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-m", "results", "history", folder, "--chart", f"{folder}/chart.svg"],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            check=True,
        )
        seconds = time.perf_counter() - began
    print(
        f"{arguments.stored} runs of {arguments.cells} cells: {seconds:.1f} s "
        f"(must be below {LIMIT_S:.0f} s), {len(done.stdout):,} bytes of Markdown and a chart"
    )
    return 0 if seconds < LIMIT_S else 1


def write_runs(root: Path, runs: int, cells: int) -> None:
    """Runs as the suite stores them; the first cell gets 10% slower in the middle."""
    chance = random.Random(0)
    for number in range(runs):
        stamp = FIRST + timedelta(days=number)
        folder = RunFolder.create(root, {"machine": "made up"}, stamp)
        lines = [
            made_up(cell, 0.1 if cell == 0 and 2 * number >= runs else 0.0, chance).to_json()
            for cell in range(cells)
        ]
        folder.records_path.write_text("\n".join(lines) + "\n")


def made_up(cell: int, slowdown: float, chance: random.Random) -> Record:
    """A record as large as a real one, blocks and step times included."""
    ratios = [chance.gauss(-slowdown, 0.02) for _ in range(STARTS)]
    speedup = math.exp(statistics.mean(ratios))
    step = StepTimes(median=0.1, p10=0.09, p90=0.12, p99=0.13)
    record = Record(
        cell=f"test_matrix[gpt2-cpu-{cell}]",
        workload="gpt2",
        scale="tiny",
        unit="tokens",
        setting={"device": "cpu", "num_workers": cell},
        baseline={"device": "cpu", "num_workers": 0},
        technique=f"workers{cell}",
        outcome="ok",
        reason=None,
    )
    return replace(
        record,
        speedup=speedup,
        speedup_low=speedup * 0.98,
        speedup_high=speedup * 1.02,
        detectable=0.02,
        verdict="unclear",
        log_ratios=ratios,
        starts=STARTS,
        pairs=STARTS * PAIRS,
        samples_per_s=8000.0,
        baseline_samples_per_s=8000.0 / speedup,
        step_s=step,
        baseline_step_s=step,
        blocks=[
            {
                "start": start,
                "pair": pair,
                "arm": arm,
                "steps": 8,
                "samples": 8192,
                "seconds": chance.random(),
            }
            for start in range(STARTS)
            for pair in range(PAIRS)
            for arm in ("baseline", "candidate")
        ],
    )
