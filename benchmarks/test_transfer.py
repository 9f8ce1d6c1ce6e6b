"""From the loader to the device: how many workers, what they hold ready, how batches are copied.

The number of workers is tried up to the cores there are; what they do besides, on two of them.
"""

import pytest

from benchmarks.cell import Cell
from benchmarks.conftest import Measure
from benchmarks.families import family


@pytest.mark.cells(of=family("transfer"))
def test_transfer(cell: Cell, measure: Measure) -> None:
    measure(cell)
