"""`python -m results`: reads runs, on any machine, without torch."""

import argparse
import importlib
import io
import logging
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from results.commands import COMMANDS, Answer
from results.flat import ColumnError
from results.identity import ComparisonError
from results.record import RecordError
from results.store import StoreError

USAGE_ERROR = 2


class Parser(argparse.ArgumentParser):
    """argparse whose errors are one line that says where help is."""

    def error(self, message: str) -> NoReturn:
        self.exit(USAGE_ERROR, f"{self.prog}: {message} (see {self.prog} --help)\n")


def parser() -> Parser:
    whole = Parser(
        prog="python -m results",
        description="What the runs of this suite measured.",
        allow_abbrev=False,
    )
    commands = whole.add_subparsers(metavar="COMMAND", required=True, dest="command")
    for name in COMMANDS:
        module = importlib.import_module(f"results.commands.{name}")
        command = commands.add_parser(name, help=module.HELP, description=module.HELP)
        module.configure(command)
        command.set_defaults(run=module.run)
    return whole


def main(words: Sequence[str] | None = None) -> int:
    """Run one command; its exit code, or 2 after one line on stderr for wrong use and bad files."""
    logging.basicConfig(format="%(message)s")
    arguments = parser().parse_args(words)
    try:
        answer = arguments.run(arguments)
    except (StoreError, ColumnError, RecordError, ComparisonError) as error:
        print(f"python -m results: {error}", file=sys.stderr)
        return USAGE_ERROR
    if not isinstance(answer, Answer):
        answer = Answer(answer)
    _write(answer.text)
    return answer.exit_code


def _write(text: str) -> None:
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without × still gets its table
    try:
        print(text, end="", flush=True)
    except BrokenPipeError:  # `| head` has seen enough; keep Python from complaining at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
