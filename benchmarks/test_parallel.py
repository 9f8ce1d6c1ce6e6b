"""Several devices: what each way of sharing the work brings, weak and strong scaling apart."""

import pytest

from benchmarks.cell import Cell
from benchmarks.conftest import Measure
from benchmarks.families import family


@pytest.mark.cells(of=family("parallel"))
def test_parallel(cell: Cell, measure: Measure) -> None:
    measure(cell)
