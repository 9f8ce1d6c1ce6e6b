"""`python -m benchmarks`: what there is to know besides a run of the matrix."""

import argparse
import importlib
import sys
from collections.abc import Sequence

from benchmarks.commands import COMMANDS
from benchmarks.suite import FAULTS_BEFORE_MEASURING

USAGE_ERROR = 2


def parser() -> argparse.ArgumentParser:
    whole = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="The suite's own commands; the cells themselves run with `nox -s bench`.",
        allow_abbrev=False,
    )
    commands = whole.add_subparsers(metavar="COMMAND", required=True, dest="command")
    for name in COMMANDS:
        module = importlib.import_module(f"benchmarks.commands.{name}")
        command = commands.add_parser(name, help=module.HELP, description=module.HELP)
        module.configure(command)
        command.set_defaults(run=module.run)
    return whole


def main(words: Sequence[str] | None = None) -> int:
    arguments = parser().parse_args(words)
    try:
        code: int = arguments.run(arguments)
    except FAULTS_BEFORE_MEASURING as error:
        print(f"python -m benchmarks: {error}", file=sys.stderr)
        return USAGE_ERROR
    return code


if __name__ == "__main__":
    sys.exit(main())
