"""CPU: threads, ranks times threads, allocators, oneDNN's instruction sets."""

import pytest

from benchmarks.cell import Cell
from benchmarks.conftest import Measure
from benchmarks.families import family


@pytest.mark.cells(of=family("threads"))
def test_threads(cell: Cell, measure: Measure) -> None:
    measure(cell)
