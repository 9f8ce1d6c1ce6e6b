"""Images on their way to a batch: who decodes and augments them, and how large they are stored.

Without loader workers and on two of them.
"""

import pytest

from benchmarks.cell import Cell
from benchmarks.conftest import Measure
from benchmarks.families import family


@pytest.mark.cells(of=family("preprocessing"))
def test_preprocessing(cell: Cell, measure: Measure) -> None:
    measure(cell)
