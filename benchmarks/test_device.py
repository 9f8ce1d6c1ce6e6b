"""Each accelerator against the CPU, at the same batch."""

import pytest

from benchmarks.cell import Cell
from benchmarks.conftest import Measure
from benchmarks.matrix import accelerator_against_cpu


@pytest.mark.cells(of=accelerator_against_cpu)
def test_device(cell: Cell, measure: Measure) -> None:
    measure(cell)
