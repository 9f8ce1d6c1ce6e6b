"""Samples a step: throughput at each batch, and the time to a target loss with each rate."""

import pytest

from benchmarks.cell import Cell
from benchmarks.conftest import Measure
from benchmarks.engine.time_to_target import times_to_target
from benchmarks.families import family


@pytest.mark.cells(of=family("batch_size"))
def test_batch_size(cell: Cell, measure: Measure) -> None:
    measure(cell)


@pytest.mark.cells(of=times_to_target)
def test_time_to_target(cell: Cell, measure: Measure) -> None:
    measure(cell)
