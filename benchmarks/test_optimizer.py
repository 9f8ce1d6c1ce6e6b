"""Implementations of the optimizer and of zero_grad, each against torch's default."""

import pytest

from benchmarks.cell import Cell
from benchmarks.conftest import Measure
from benchmarks.families import family


@pytest.mark.cells(of=family("optimizer"))
def test_optimizer(cell: Cell, measure: Measure) -> None:
    measure(cell)
