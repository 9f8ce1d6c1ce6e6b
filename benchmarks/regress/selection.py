"""Which cells a gate is about."""

from collections.abc import Sequence
from functools import partial

from _pytest.mark.expression import Expression  # -k as pytest has it, without a session

from benchmarks.cell import Cell
from benchmarks.hardware import glance
from benchmarks.matrix import Scope, matrix
from benchmarks.options import OptionError


def device_of(asked: str | None) -> str:
    """The device asked for, else the accelerator, else the CPU."""
    seen = glance().devices
    return asked or next((name for name in ("cuda", "xpu", "mps") if seen.get(name)), "cpu")


def selected(workloads: Sequence[str], device: str | None, expression: str | None) -> list[Cell]:
    """The matrix's cells that `expression` (pytest's -k) selects; None: each workload's plain one.

    Raises:
        OptionError: no cell, or no expression.
    """
    cells = matrix(Scope(workloads, [device_of(device)], glance(), named=True))
    if expression is None:
        return [cell for cell in cells if cell.is_control]
    try:
        wanted = Expression.compile(expression)
    except SyntaxError as error:
        raise OptionError(f"-k {expression}: {error.msg}") from error
    chosen = [cell for cell in cells if wanted.evaluate(partial(_holds, cell.id))]
    if not chosen:
        raise OptionError(f"-k {expression}: selects none of {len(cells)} cells")
    return chosen


def _holds(name: str, word: str, **_: object) -> bool:
    return word in name
