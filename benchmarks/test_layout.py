"""channels_last against contiguous images."""

import pytest

from benchmarks.cell import Cell
from benchmarks.conftest import Measure
from benchmarks.families import family


@pytest.mark.cells(of=family("layout"))
def test_layout(cell: Cell, measure: Measure) -> None:
    measure(cell)
