"""Finished tables as Markdown or for a terminal; records as CSV or JSON.

Names, reasons and notes come from users and from failing programs, so every renderer makes
them harmless for its format; nothing here decides what is shown.
"""

import io
import json
import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from results import flat
from results.columns import Heading
from results.record import Record
from results.table import NotMeasured, Table, frame

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table as RichTable

GAP = 2  # blanks between columns on a terminal
VERDICT_STYLES = {"faster": "green", "slower": "red", "same": "dim", "unclear": "yellow"}

# What gives way first where a terminal is narrow; the rest answers "what pays here".
DISPENSABLE = (
    "step_s.p90",
    "peak_memory_bytes",
    "resident_bytes",
    "cpu_utilization_pct",
    "gpu_utilization_pct",
    "step_s.median",
    "baseline_target_steps",
    "baseline_target_s",
    "target_steps",
)


def markdown(tables: Sequence[Table]) -> str:
    """GitHub-flavoured Markdown, one section a workload."""
    return "\n".join(_section(table) for table in tables)


def _section(table: Table) -> str:
    parts = [f"## {escape(table.title)}"]
    if table.rows:
        parts.append(_grid(table.headings, table.rows))
        legend = " · ".join(escape(line) for line in _legend(table, table.headings))
        parts.append(f"<sub>{legend}</sub>")
    if table.notes:
        parts.append("\n".join(f"- † {escape(note)}" for note in table.notes))
    if table.diagnoses:
        parts.append("What binds:\n\n" + "\n".join(f"- {escape(d)}" for d in table.diagnoses))
    if table.not_measured:
        parts.append(_grid(NOT_MEASURED, [_entry(entry) for entry in table.not_measured]))
    parts.append(f"**{escape(table.advice)}**")
    return "\n\n".join(parts) + "\n"


NOT_MEASURED = (
    Heading("outcome", "outcome", right=False),
    Heading("reason", "reason", right=False),
    Heading("settings", "settings", right=False),
)


def _entry(entry: NotMeasured) -> tuple[str, str, str]:
    return entry.outcome, entry.reason, ", ".join(entry.settings)


def _grid(headings: Sequence[Heading], rows: Sequence[Sequence[str]]) -> str:
    from tabulate import tabulate

    return tabulate(
        [[escape(text) for text in row] for row in rows],
        headers=[escape(heading.text) for heading in headings],
        tablefmt="pipe",  # GitHub's too, and unlike "github" it keeps numbers to the right
        colalign=["right" if heading.right else "left" for heading in headings],
        disable_numparse=True,
    )


def escape(text: str) -> str:
    """Text that Markdown shows as it is, on one line, also inside a table.

    An underscore inside a word (amp_bf16) is no markup in GitHub's flavour and stays readable.
    """
    text = one_line(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = re.sub(r"([\\|`*\[\]~$#])", r"\\\1", text)
    return re.sub(r"(?<!\w)_|_(?!\w)", r"\\_", text)


def one_line(text: str) -> str:
    """Without line breaks, and without control characters that would steer a terminal."""
    visible = (
        " " if unicodedata.category(letter) in ("Cc", "Cf", "Zl", "Zp", "Cs") else letter
        for letter in text
    )
    return " ".join("".join(visible).split())


def csv(records: Sequence[Record], show: Sequence[str] | None = None) -> str:
    """One row a record, SI units as the column names say, unknown values empty.

    Columns as in `flat`; lists are JSON inside their field. Raises ColumnError.
    """
    table = frame(records)
    if show is not None:
        flat.check(show, list(table.columns))
        table = table[list(show)]
    for name in table.columns:
        if table[name].dtype == object:
            table[name] = table[name].map(
                lambda value: json.dumps(value) if isinstance(value, list) else value
            )
    return table.to_csv(index=False, lineterminator="\n")


def as_json(records: Sequence[Record], show: Sequence[str] | None = None) -> str:
    """A strict JSON list of flat objects, in the same columns as the CSV. Raises ColumnError."""
    names = flat.names(records)
    if show is not None:
        flat.check(show, names)
        names = list(show)
    rows = [flat.flat(record) for record in records]
    plain = [{name: row.get(name) for name in names} for row in rows]
    return json.dumps(plain, indent=2, allow_nan=False) + "\n"


def plain_console(output: io.StringIO, width: int, *, colour: bool) -> "Console":
    """A console that writes texts as they are: no markup, no emoji, no guessed highlights."""
    from rich.console import Console

    return Console(
        file=output,
        width=width,
        force_terminal=colour,
        color_system="standard" if colour else None,
        highlight=False,
        emoji=False,
        markup=False,
        legacy_windows=False,
    )


def terminal(
    tables: Sequence[Table], width: int, *, colour: bool = False, closing: Sequence[str] = ()
) -> str:
    """For a terminal of `width` characters; columns that do not fit give way, and it says so.

    closing: lines for below the tables, wrapped like the rest (see `summary`).
    """
    output = io.StringIO()
    console = plain_console(output, width, colour=colour)
    for table in tables:
        for part in _parts(table, width):
            console.print(part)
            console.print()
    for line in closing:
        console.print(one_line(line))
    # Padding to the full width would wrap as soon as the window shrinks.
    return "\n".join(line.rstrip() for line in output.getvalue().split("\n"))


def _parts(table: Table, width: int) -> "list[RenderableType]":
    from rich.text import Text

    parts: list[RenderableType] = [Text(one_line(table.title), style="bold")]
    if table.rows:
        kept = fitting(table, width)
        headings = [table.headings[place] for place in kept]
        parts.append(_rich_grid(headings, _only(kept, table.rows), width))
        legend = _legend(table, headings)
        if hidden := [heading.text for heading in table.headings if heading not in headings]:
            legend.append(f"not shown, the window is too narrow: {', '.join(hidden)}")
        parts.append(Text(" · ".join(map(one_line, legend)), style="dim"))
    if table.notes:
        parts.append(Text("\n".join(f"† {one_line(note)}" for note in table.notes), "yellow"))
    if table.diagnoses:
        parts.append(Text("\n".join(f"◦ {one_line(said)}" for said in table.diagnoses)))
    if table.not_measured:
        entries = [_entry(entry) for entry in table.not_measured]
        parts.append(_rich_grid(NOT_MEASURED, entries, width))
    parts.append(Text(f"→ {one_line(table.advice)}", style="bold"))
    return parts


def _legend(table: Table, headings: Sequence[Heading]) -> list[str]:
    """What holds for the table, then what the shown columns mean."""
    return [*table.legend, *(heading.legend for heading in headings if heading.legend)]


def _only(kept: Sequence[int], rows: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    return [tuple(row[place] for place in kept) for row in rows]


def _rich_grid(
    headings: Sequence[Heading], rows: Sequence[Sequence[str]], width: int
) -> "RichTable":
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    cells = [[one_line(text) for text in row] for row in rows]
    columns = list(zip(*cells, strict=True))
    tight = _total(map(_roomy, headings, columns)) > width
    grid = RichTable(
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, GAP - 1, 0, 0),  # the box adds a blank of its own
        header_style="bold",
    )
    for heading, column in zip(headings, columns, strict=True):
        grid.add_column(
            Text(_stacked(heading)),
            justify="right" if heading.right else "left",
            overflow="fold",
            # Words may wrap, numbers may not.
            width=_least(heading, column) if tight and not _wraps(heading) else None,
        )
    for row in cells:
        grid.add_row(
            *(
                Text(text, style=_style(heading, text))
                for heading, text in zip(headings, row, strict=True)
            )
        )
    return grid


def _style(heading: Heading, text: str) -> str:
    return VERDICT_STYLES.get(text.partition(" ")[0], "") if heading.key == "verdict" else ""


def fitting(table: Table, width: int) -> list[int]:
    """Places of the columns that fit into `width` with no number broken over two lines.

    Names of settings may wrap between their words. Dispensable columns go in a fixed order,
    and only as many as must.
    """
    least = list(map(_least, table.headings, zip(*table.rows, strict=True)))
    kept = list(range(len(table.headings)))
    for key in DISPENSABLE:
        if _total(least[place] for place in kept) <= width:
            break
        kept = [place for place in kept if table.headings[place].key != key]
    return kept


def _total(widths: Iterable[int]) -> int:
    """Characters of a row of columns with gaps between them."""
    each = list(widths)
    return sum(each) + GAP * (len(each) - 1)


def _wraps(heading: Heading) -> bool:
    return not heading.right and heading.key not in (
        "speedup",
        "target_speedup",
        "verdict",
        "outcome",
    )


def _roomy(heading: Heading, cells: Sequence[str]) -> int:
    return max(map(len, [*_stacked(heading).split("\n"), *cells]))


def _least(heading: Heading, cells: Sequence[str]) -> int:
    """The narrowest that a column may become: a number whole, of a text its longest word."""
    head = _stacked(heading).replace(", ", ",\n").split("\n")
    if not _wraps(heading):
        return max(map(len, [*head, *cells]))
    # A mark or a plus sign stays with the word before it.
    words = (w for cell in cells for w in re.sub(r" ([†+])", r"_\1", cell).split())
    return max(map(len, [*head, *words]))


def _stacked(heading: Heading) -> str:
    """The unit below the name: headers are wider than most numbers."""
    return heading.text.replace(" (", "\n(")
