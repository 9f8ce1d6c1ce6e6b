"""Collecting the matrix: how long it takes, and that torch stays out of pytest's process."""

import argparse
import statistics
import subprocess
import sys
import time

from benchmarks.engine.launcher import ROOT

HELP = "seconds of `pytest benchmarks --collect-only -q`, and whether torch was imported"
PROGRAM = """
import sys, pytest
code = pytest.main(["benchmarks", "--collect-only", "-q"])
sys.exit(3 if "torch" in sys.modules else code)
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--times", type=int, default=5, help="default: 5")


def run(arguments: argparse.Namespace) -> int:
    seconds, codes = [], set()
    for _ in range(arguments.times):
        began = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM], cwd=ROOT, capture_output=True, check=False
        )
        seconds.append(time.perf_counter() - began)
        codes.add(done.returncode)
    print(f"median {statistics.median(seconds):.2f} s, slowest {max(seconds):.2f} s")
    print(f"torch imported: {'yes' if 3 in codes else 'no'}")
    return 0 if codes == {0} else 1
