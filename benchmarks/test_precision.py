"""TF32, mixed and pure low precision, each against IEEE fp32."""

import pytest

from benchmarks.cell import Cell
from benchmarks.conftest import Measure
from benchmarks.families import family


@pytest.mark.cells(of=family("precision"))
def test_precision(cell: Cell, measure: Measure) -> None:
    measure(cell)
