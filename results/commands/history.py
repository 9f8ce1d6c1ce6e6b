"""`python -m results history`: every cell over all stored runs, with its changes."""

import argparse
import shutil
import sys
from pathlib import Path

from results.commands import Answer
from results.store import StoreError

HELP = "follow every cell over all stored runs, and say when it changed"
FORMATS = ("markdown", "json", "terminal")
QUANTITIES = ("speedup", "throughput")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder",
        nargs="?",
        metavar="DIR",
        type=Path,
        help="folder that holds the runs (default: results/runs)",
    )
    parser.add_argument(
        "--of",
        choices=QUANTITIES,
        default="speedup",
        help="what to follow; throughput has the machine's drift in it (default: speedup)",
    )
    parser.add_argument("--chart", metavar="FILE.svg", type=Path, help="draw it there as well")
    parser.add_argument("--format", choices=FORMATS, default="markdown", help="default: markdown")


def run(arguments: argparse.Namespace) -> Answer:
    """The history as text. Raises StoreError."""
    from results import history_table, listing  # numpy behind it: not for those who ask for --help
    from results.archive import read
    from results.history import lines

    archive = read(arguments.folder)
    found = lines(archive, arguments.of)
    if arguments.chart:
        from results.chart import svg

        _write(arguments.chart, svg(found, archive, arguments.of))
    if arguments.format == "json":
        return Answer(history_table.as_json(found, archive, arguments.of))
    table = history_table.as_listing(found, archive, arguments.of)
    if arguments.format == "terminal":
        width = shutil.get_terminal_size((100, 24)).columns
        return Answer(listing.terminal(table, width, colour=sys.stdout.isatty()))
    return Answer(listing.markdown(table))


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise StoreError(f"cannot write the chart {path}: {error.strerror or error}") from error
