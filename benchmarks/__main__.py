"""`python -m benchmarks`: what there is to know besides a run of the matrix."""

import argparse
import importlib
import signal
import sys
from collections.abc import Sequence

from benchmarks.commands import COMMANDS

USAGE_ERROR = 2
STOPPED = 130  # as a shell says it of Ctrl-C


def parser(words: Sequence[str]) -> argparse.ArgumentParser:
    """Knows all commands, and the options of those that `words` name: the others stay unloaded."""
    whole = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="The suite's own commands; the cells themselves run with `nox -s bench`.",
        allow_abbrev=False,
    )
    commands = whole.add_subparsers(metavar="COMMAND", required=True, dest="command")
    for name, purpose in COMMANDS.items():
        command = commands.add_parser(name, help=purpose, description=purpose)
        if name in words:
            module = importlib.import_module(f"benchmarks.commands.{name}")
            module.configure(command)
            command.set_defaults(run=module.run)
    return whole


def main(words: Sequence[str] | None = None) -> int:
    words = sys.argv[1:] if words is None else words
    arguments = parser(words).parse_args(words)
    try:
        code: int = arguments.run(arguments)
    except KeyboardInterrupt:
        print("python -m benchmarks: stopped", file=sys.stderr)
        return STOPPED
    except _faults() as error:  # asked for only when something was raised
        print(f"python -m benchmarks: {error}", file=sys.stderr)
        return USAGE_ERROR
    return code


def _faults() -> tuple[type[Exception], ...]:
    from benchmarks.suite import FAULTS_BEFORE_MEASURING

    return FAULTS_BEFORE_MEASURING


def _stop(*_: object) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _stop)  # a cancelled job tidies up as after Ctrl-C
    sys.exit(main())
