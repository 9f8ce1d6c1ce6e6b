"""Kernels of scaled_dot_product_attention, each against the one that torch chooses."""

import pytest

from benchmarks.cell import Cell
from benchmarks.conftest import Measure
from benchmarks.families import family


@pytest.mark.cells(of=family("attention"))
def test_attention(cell: Cell, measure: Measure) -> None:
    measure(cell)
