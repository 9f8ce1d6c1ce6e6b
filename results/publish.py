"""The files a finished run leaves for readers: table.md and table.csv, made from its records.

They can be made again at any time; the records are the truth.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from results.machine import facts, machine
from results.record import Record
from results.render import csv, escape, markdown
from results.store import RunFolder
from results.summary import summary
from results.table import workload_tables
from results.where import where_markdown


def write_tables(run: RunFolder) -> None:
    """Write table.md and table.csv into the run's folder. Raises StoreError."""
    records = run.records()
    page = report(run.path.name, run.environment(), records)
    run.write_text(run.table_markdown_path, page)
    run.write_text(run.table_csv_path, csv(records))


def report(name: str, environment: Mapping[str, Any], records: Sequence[Record]) -> str:
    """The Markdown page of a run: where, what came out, table by table, and how well it went."""
    parts = [
        f"# Training speed on {escape(machine(environment))}\n",
        _bullets([f"run: {name}", *(f"{fact}: {value}" for fact, value in facts(environment))]),
        markdown(workload_tables(records)),
        where_markdown(records),
        "## This run\n",
        _bullets(summary(records)),
    ]
    return "\n".join(part for part in parts if part)


def _bullets(lines: Sequence[str]) -> str:
    return "".join(f"- {escape(line)}\n" for line in lines)
