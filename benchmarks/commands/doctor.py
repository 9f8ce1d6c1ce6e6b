"""`python -m benchmarks doctor`: what can be trained with here, and what to mend."""

import argparse

from benchmarks.doctor.examine import examine


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "Ends with 0 where training works, with 1 where something must be mended."


def run(arguments: argparse.Namespace) -> int:
    return examine()
