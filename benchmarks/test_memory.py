"""Less memory for the same batch."""

import pytest

from benchmarks.cell import Cell
from benchmarks.conftest import Measure
from benchmarks.engine.largest_batch import largest_batches
from benchmarks.families import family


@pytest.mark.cells(of=family("memory"))
def test_memory(cell: Cell, measure: Measure) -> None:
    measure(cell)


@pytest.mark.cells(of=largest_batches)
def test_largest_batch(cell: Cell, measure: Measure) -> None:
    measure(cell)
