"""A finished list of rows with lines below it, for a page, a terminal, or another program.

For what is no workload's table: the gate, a comparison, a history. Texts come from users and from
failing programs; every renderer makes them harmless.
"""

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from results.columns import Heading
from results.render import escape, one_line


@dataclass(frozen=True, kw_only=True)
class Listing:
    """Every row has one text per heading. `lines` are sentences for below."""

    title: str
    headings: Sequence[Heading]
    rows: Sequence[Sequence[str]]
    lines: Sequence[str] = ()


def markdown(listing: Listing) -> str:
    """GitHub-flavoured Markdown: a section with one table and a bullet per line."""
    from tabulate import tabulate

    parts = [f"## {escape(listing.title)}"]
    if listing.rows:
        parts.append(
            tabulate(
                [[escape(text) for text in row] for row in listing.rows],
                headers=[escape(heading.text) for heading in listing.headings],
                tablefmt="pipe",
                colalign=["right" if heading.right else "left" for heading in listing.headings],
                disable_numparse=True,
            )
        )
    if listing.lines:
        parts.append("\n".join(f"- {escape(line)}" for line in listing.lines))
    return "\n\n".join(parts) + "\n"


def terminal(listing: Listing, width: int, *, colour: bool = False) -> str:
    """For a terminal of `width` characters; long texts wrap between words, numbers never."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    output = io.StringIO()
    console = Console(
        file=output,
        width=width,
        force_terminal=colour,
        color_system="standard" if colour else None,
        highlight=False,
        emoji=False,
        markup=False,
        legacy_windows=False,
    )
    console.print(Text(one_line(listing.title), style="bold"))
    if listing.rows:
        grid = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
        for place, heading in enumerate(listing.headings):
            grid.add_column(
                Text(one_line(heading.text)),
                justify="right" if heading.right else "left",
                overflow="fold",
                min_width=_least(heading, [one_line(row[place]) for row in listing.rows], width),
            )
        for row in listing.rows:
            grid.add_row(*(Text(one_line(text)) for text in row))
        console.print(grid)
    for line in listing.lines:
        console.print(Text(one_line(line)))
    return "\n".join(line.rstrip() for line in output.getvalue().split("\n"))


def _least(heading: Heading, cells: Sequence[str], width: int) -> int:
    """A number stays whole, a text breaks between words; but a cell's id may be of any length."""
    whole = cells if heading.right else [word for cell in cells for word in cell.split()]
    return min(max(map(len, [*whole, *one_line(heading.text).split()])), width // 3)


def strict_json(content: Mapping[str, Any]) -> str:
    """An indented JSON object. Raises ValueError for NaN and infinity."""
    return json.dumps(content, indent=2, allow_nan=False) + "\n"
