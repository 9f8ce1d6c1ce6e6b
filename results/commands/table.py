"""`python -m results table`: the tables of one or several runs."""

import argparse
import shutil
import sys

from results import flat
from results.render import as_json, csv, escape, markdown, terminal
from results.store import RunFolder
from results.summary import summary
from results.table import workload_tables
from results.where import where_markdown, where_terminal

HELP = "print the tables of runs"
FORMATS = ("markdown", "csv", "json", "terminal")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "runs",
        nargs="*",
        metavar="RUN",
        default=["latest"],
        help="a run's folder, or its name in results/runs (default: the newest)",
    )
    parser.add_argument("--format", choices=FORMATS, default="markdown", help="default: markdown")
    parser.add_argument(
        "--sort",
        metavar="COLUMN",
        help="sort by this column, largest first (default: control, then the fastest)",
    )
    parser.add_argument("--ascending", action="store_true", help="with --sort: smallest first")
    parser.add_argument(
        "--columns",
        metavar="A,B,...",
        type=_names,
        help="columns by their names in the CSV, as samples_per_s,step_s.p99,setting.precision",
    )


def run(arguments: argparse.Namespace) -> str:
    """The text to print. Raises StoreError or ColumnError."""
    folders = [RunFolder.open(path) for path in arguments.runs]
    if arguments.format in ("csv", "json"):
        records = [record for folder in folders for record in folder.records()]
        if arguments.sort:
            flat.check([arguments.sort], flat.names(records))
            records = flat.ordered(records, arguments.sort, ascending=arguments.ascending)
        write = csv if arguments.format == "csv" else as_json
        return write(records, arguments.columns)
    return "\n".join(_tables(folder, arguments, len(folders) > 1) for folder in folders)


def _tables(folder: RunFolder, arguments: argparse.Namespace, named: bool) -> str:
    records = folder.records()
    tables = workload_tables(
        records,
        sort=arguments.sort,
        ascending=arguments.ascending,
        show=arguments.columns,
        run=folder.path.name if named else None,
    )
    lines = summary(records)
    if arguments.format == "markdown":
        bullets = "".join(f"- {escape(line)}\n" for line in lines)
        return "\n".join(filter(None, [markdown(tables), where_markdown(records), bullets]))
    width, colour = shutil.get_terminal_size((100, 24)).columns, sys.stdout.isatty()
    return (
        terminal(tables, width, colour=colour)
        + where_terminal(records, width, colour=colour)
        + terminal((), width, colour=colour, closing=lines)
    )


def _names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise argparse.ArgumentTypeError("names no column")
    return names
