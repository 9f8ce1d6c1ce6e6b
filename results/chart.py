"""A history as a picture: one small panel per cell, in plain SVG.

Written by hand rather than by a plotting library: the picture is polylines and words, GitHub and
every browser show it, and nothing has to be installed for it. A panel shows every run (grey), the
levels (black) and the changes (a triangle: down and orange where it got slower, up and green where
it got faster; never colour alone).
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from xml.sax.saxutils import escape

import numpy as np

from results.archive import Archive
from results.history import Line
from results.history_table import signed, value
from results.render import one_line

LABEL_W = 350
PLOT_W = 510
NUMBER_W = 120
PANEL_H = 44
GAP = 8
TOP = 46
BOTTOM = 30
WIDTH = LABEL_W + PLOT_W + NUMBER_W
LONGEST_LABEL = 50
LEAST_RANGE = 0.05  # of the level, up and down: noise of 1% must not fill a panel
DATES = 5
SLOWER, FASTER = "#b34700", "#00704f"


def svg(lines: Sequence[Line], archive: Archive, quantity: str) -> str:
    """The whole picture, as wide as a GitHub page, a panel per line in the order given."""
    height = TOP + len(lines) * (PANEL_H + GAP) + BOTTOM
    unit = "Speed-up" if quantity == "speedup" else "Throughput"
    title = f"{unit} over {len(archive.runs)} runs"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'height="{height}" font-family="sans-serif" font-size="12" fill="#222222">',
        f"<title>{_text(title)}</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<text x="10" y="24" font-size="16">{_text(title)}</text>',
        *_legend(quantity),
    ]
    several = len({line.machine for line in lines}) > 1
    for place, line in enumerate(lines):
        top = TOP + place * (PANEL_H + GAP)
        parts += _panel(line, top, len(archive.runs), quantity, named=several)
    parts += _dates(archive.runs, height - BOTTOM + 12)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _panel(line: Line, top: int, runs: int, quantity: str, *, named: bool) -> Iterator[str]:
    low, high = _range(line)

    def x(place: int) -> float:
        return LABEL_W + (line.points[place].position + 0.5) * PLOT_W / runs

    def y(number: float) -> float:
        inside = min(max(number, low), high)
        return top + PANEL_H - 3 - (inside - low) / (high - low) * (PANEL_H - 6)

    label = f"{line.cell} ({line.machine[:8]})" if named else line.cell
    yield (
        f'<rect x="{LABEL_W}" y="{top}" width="{PLOT_W}" height="{PANEL_H}" fill="#f5f5f5"/>'
        f'<text x="10" y="{top + PANEL_H / 2 + 4}" font-size="11">{_text(_short(label))}'
        f"<title>{_text(label)}</title></text>"
    )
    if quantity == "speedup" and low < 1 < high:
        yield (
            f'<line x1="{LABEL_W}" x2="{LABEL_W + PLOT_W}" y1="{y(1):.1f}" y2="{y(1):.1f}" '
            'stroke="#999999" stroke-dasharray="2 3"/>'
        )
    trace = " ".join(f"{x(place):.1f},{y(each):.1f}" for place, each in enumerate(line.values))
    if len(line.values) == 1:
        yield f'<circle cx="{x(0):.1f}" cy="{y(line.values[0]):.1f}" r="2" fill="#7f8fa6"/>'
    yield f'<polyline points="{trace}" fill="none" stroke="#7f8fa6" stroke-width="0.8"/>'
    for level in line.levels:
        height = y(level.value)
        yield (
            f'<line x1="{x(level.begin):.1f}" x2="{x(level.end - 1):.1f}" y1="{height:.1f}" '
            f'y2="{height:.1f}" stroke="#222222" stroke-width="1.6"/>'
        )
    for before, after in pairwise(line.levels):
        ratio = after.value / before.value
        told = f"{line.points[after.begin].run}: {signed(ratio)}"
        yield _triangle(x(after.begin), top, slower=ratio < 1, told=told)
    now, right = value(line.levels[-1].value, quantity), LABEL_W + PLOT_W + 8
    change = line.last_change
    yield f'<text x="{right}" y="{top + 18}">{_text(now)}</text>'
    if change is not None:
        colour = SLOWER if change < 1 else FASTER
        yield f'<text x="{right}" y="{top + 36}" fill="{colour}">{_text(signed(change))}</text>'


def _range(line: Line) -> tuple[float, float]:
    """Wide enough for all levels and nearly all runs; an outlier touches the edge."""
    low, high = np.quantile(line.values, (0.01, 0.99))
    middles = [level.value for level in line.levels]
    return (
        float(min(low, min(middles) * (1 - LEAST_RANGE))),
        float(max(high, max(middles) * (1 + LEAST_RANGE))),
    )


def _triangle(x: float, top: int, *, slower: bool, told: str) -> str:
    if slower:
        corners = f"{x - 5:.1f},{top + 1} {x + 5:.1f},{top + 1} {x:.1f},{top + 10}"
    else:
        corners = f"{x - 5:.1f},{top + 10} {x + 5:.1f},{top + 10} {x:.1f},{top + 1}"
    colour = SLOWER if slower else FASTER
    return f'<polygon points="{corners}" fill="{colour}"><title>{_text(told)}</title></polygon>'


def _legend(quantity: str) -> Iterator[str]:
    left, height = LABEL_W, 12
    yield _triangle(left + 5, height, slower=True, told="got slower")
    yield f'<text x="{left + 16}" y="{height + 11}">slower</text>'
    yield _triangle(left + 75, height, slower=False, told="got faster")
    yield f'<text x="{left + 86}" y="{height + 11}">faster</text>'
    yield (
        f'<line x1="{left + 140}" x2="{left + 160}" y1="{height + 7}" y2="{height + 7}" '
        'stroke="#222222" stroke-width="1.6"/>'
        f'<text x="{left + 166}" y="{height + 11}">level (median)</text>'
    )
    if quantity == "speedup":
        yield (
            f'<line x1="{left + 270}" x2="{left + 290}" y1="{height + 7}" y2="{height + 7}" '
            'stroke="#999999" stroke-dasharray="2 3"/>'
            f'<text x="{left + 296}" y="{height + 11}">1.00×: as fast as the baseline</text>'
        )


def _dates(runs: Sequence[str], y: int) -> Iterator[str]:
    """Names of runs begin with their date."""
    for place in sorted({round(each) for each in np.linspace(0, len(runs) - 1, DATES)}):
        x = LABEL_W + (place + 0.5) * PLOT_W / len(runs)
        anchor = "start" if place == 0 else "end" if place == len(runs) - 1 else "middle"
        yield f'<text x="{x:.1f}" y="{y}" text-anchor="{anchor}">{_text(runs[place][:10])}</text>'


def _short(label: str) -> str:
    """The end of an id tells cells apart."""
    return label if len(label) <= LONGEST_LABEL else f"…{label[1 - LONGEST_LABEL :]}"


def _text(text: str) -> str:
    return escape(one_line(text), {'"': "&quot;"})
