"""torch.compile in its modes, each against the model as it is written.

The first start finds no compiled kernels: its first step is the cold cost of the record."""

import pytest

from benchmarks.cell import Cell
from benchmarks.conftest import Measure
from benchmarks.families import family


@pytest.mark.cells(of=family("compile"))
def test_compile(cell: Cell, measure: Measure) -> None:
    measure(cell)
