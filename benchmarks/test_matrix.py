"""The matrix: workloads x device x num_workers x precision x parallel strategy.

Each cell against the plain setting of its workload and device; the plain cell itself is the
control (A/A).
"""

import pytest

from benchmarks.cell import Cell
from benchmarks.conftest import Measure
from benchmarks.matrix import matrix


@pytest.mark.cells(of=matrix)
def test_matrix(cell: Cell, measure: Measure) -> None:
    measure(cell)
