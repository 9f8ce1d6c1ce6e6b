"""`python -m results recommend`: what to turn on, from techniques that were measured alone."""

import argparse
import shutil
import sys

from results.store import RunFolder, StoreError

HELP = "say what to turn on, from techniques measured one at a time"
FORMATS = ("markdown", "json", "terminal")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder",
        nargs="?",
        metavar="RUN",
        default="latest",
        help="a run's folder, or its name in results/runs (default: the newest)",
    )
    parser.add_argument("--format", choices=FORMATS, default="markdown", help="default: markdown")


def run(arguments: argparse.Namespace) -> str:
    """The advice as text. Raises StoreError."""
    from results import listing, recommend_table
    from results.recommend import suggestions

    folder = RunFolder.open(arguments.folder)
    found = suggestions(folder.records())
    if not found:
        raise StoreError(f"{folder.path} holds no cell of a technique: measure with `nox -s bench`")
    if arguments.format == "json":
        return recommend_table.as_json(found)
    pages = recommend_table.as_listings(found)
    if arguments.format == "terminal":
        width, colour = shutil.get_terminal_size((100, 24)).columns, sys.stdout.isatty()
        return "\n".join(listing.terminal(page, width, colour=colour) for page in pages)
    return "\n".join(listing.markdown(page) for page in pages)
