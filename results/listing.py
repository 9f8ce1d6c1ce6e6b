"""A finished list of rows with lines below it, for a page, a terminal, or another program.

For what is no workload's table: the gate, a comparison, a history. Texts come from users and from
failing programs; every renderer makes them harmless.
"""

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from results.columns import Heading
from results.render import escape, one_line, plain_console

if TYPE_CHECKING:
    from rich.table import Table

GAP = 2  # blanks between columns on a terminal


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
    """For a terminal of `width` characters: texts wrap between words, an interval below its number.

    Where not even that fits, each row becomes a paragraph, so that nothing is cut off.
    """
    from rich.text import Text

    output = io.StringIO()
    console = plain_console(output, width, colour=colour)
    console.print(Text(one_line(listing.title), style="bold"))
    heads = [one_line(heading.text) for heading in listing.headings]
    rows = [[one_line(text) for text in row] for row in listing.rows]
    columns = [list(texts) for texts in zip(heads, *rows, strict=True)]
    widths = _widths(
        [max(map(len, texts)) for texts in columns],
        [_least(*each, width) for each in zip(listing.headings, columns, strict=True)],
        width - GAP * (len(columns) - 1),
    )
    if rows and widths:
        console.print(_grid(listing, heads, rows, widths))
    else:
        for row in rows:
            console.print(Text(row[0], style="bold"))
            for head, text in zip(heads[1:], row[1:], strict=True):
                console.print(Text(f"  {head}: {text}"))
    for line in listing.lines:
        console.print(Text(one_line(line)))
    return "\n".join(line.rstrip() for line in output.getvalue().split("\n"))


def _grid(
    listing: Listing, heads: Sequence[str], rows: Sequence[Sequence[str]], widths: Sequence[int]
) -> "Table":
    from rich import box
    from rich.table import Table
    from rich.text import Text

    grid = Table(
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, GAP - 1, 0, 0),  # the box adds a blank of its own
        header_style="bold",
    )
    for heading, head, width in zip(listing.headings, heads, widths, strict=True):
        grid.add_column(
            Text(head),
            justify="right" if heading.right else "left",
            overflow="fold",
            width=width,
        )
    for row in rows:
        grid.add_row(*map(Text, row))
    return grid


def _widths(natural: Sequence[int], least: Sequence[int], room: int) -> list[int]:
    """Widths that fit: what is widest gives way first. Empty where nothing fits.

    Done here because rich, asked for least widths, cuts off the last column instead.
    """
    widths = list(natural)
    while (over := sum(widths) - room) > 0:
        spare = [(width, place) for place, width in enumerate(widths) if width > least[place]]
        if not spare:
            return []
        width, place = max(spare)
        widths[place] = max(least[place], width - over, width - 4)
    return widths


def _least(heading: Heading, texts: Sequence[str], width: int) -> int:
    """The longest word; but the id of a cell may be of any length, and breaks where it must."""
    longest = max((len(word) for text in texts for word in text.split()), default=1)
    return longest if heading.right else min(longest, max(12, width // 5))


def strict_json(content: Mapping[str, Any]) -> str:
    """An indented JSON object. Raises ValueError for NaN and infinity."""
    return json.dumps(content, indent=2, allow_nan=False) + "\n"
