"""`python -m results compare`: what changed from one stored run to another."""

import argparse
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from results.commands import Answer
from results.commands.percent import share
from results.identity import ComparisonError
from results.pytest_benchmark import medians
from results.store import RunFolder

if TYPE_CHECKING:
    from results.listing import Listing

HELP = "compare two stored runs, or two pytest-benchmark files, cell by cell"
FORMATS = ("markdown", "json", "terminal")
FAILED = 1


def configure(parser: argparse.ArgumentParser) -> None:
    what = "a run's folder, its name in results/runs, or a pytest-benchmark JSON file"
    parser.add_argument("base", metavar="BASE", help=what)
    parser.add_argument("new", metavar="NEW", help=f"{what}; `latest` is the newest run")
    parser.add_argument(
        "--fail-above",
        metavar="5%",
        type=share,
        help="exit with 1 when a cell's speed-up surely fell by more than this, or a cell that "
        "ran does not run any more",
    )
    parser.add_argument("--format", choices=FORMATS, default="markdown", help="default: markdown")


def run(arguments: argparse.Namespace) -> Answer:
    """The table; exit code 1 as --fail-above says. Raises StoreError or ComparisonError."""
    files = [Path(name).is_file() for name in (arguments.base, arguments.new)]
    if any(files) and not all(files):
        raise ComparisonError(
            "one is a run and the other a file: compare two of a kind "
            "(a run's file is RUN/benchmark.json)"
        )
    if all(files):
        return _files(arguments)
    return _runs(arguments)


def _runs(arguments: argparse.Namespace) -> Answer:
    from results import comparison_table  # scipy behind it: not for those who ask for --help
    from results.comparison import compare, fallen

    base, new = (RunFolder.open(name) for name in (arguments.base, arguments.new))
    found = compare(base.records(), new.records(), base.environment(), new.environment())
    failures = [] if arguments.fail_above is None else fallen(found, arguments.fail_above)
    names = base.path.name, new.path.name
    if arguments.format == "json":
        text = comparison_table.as_json(found, *names, failures)
    else:
        text = _shown(comparison_table.as_listing(found, *names, failures), arguments.format)
    return Answer(text, FAILED if failures else 0)


def _files(arguments: argparse.Namespace) -> Answer:
    from results import comparison_table
    from results.comparison import compare_medians

    found = compare_medians(medians(Path(arguments.base)), medians(Path(arguments.new)))
    if arguments.fail_above is not None:
        raise ComparisonError(
            "--fail-above needs runs of this suite: the ratio of two medians has no interval"
        )
    names = arguments.base, arguments.new
    if arguments.format == "json":
        return Answer(comparison_table.as_json(found, *names, []))
    return Answer(_shown(comparison_table.medians_listing(found, *names), arguments.format))


def _shown(table: "Listing", form: str) -> str:
    from results import listing

    if form == "terminal":
        width = shutil.get_terminal_size((100, 24)).columns
        return listing.terminal(table, width, colour=sys.stdout.isatty())
    return listing.markdown(table)
