"""What the checks share: a suite opened without pytest."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from benchmarks import options
from benchmarks.cell import Cell
from benchmarks.suite import Suite

RUNS = Path(__file__).resolve().parents[2] / "results" / "runs"
SLEEPERS = f"{Path(__file__).with_name('sleepers.py')}:sleepers"


@contextmanager
def opened(cells: list[Cell], **words: str) -> Iterator[Suite]:
    """A suite ready to measure `cells`; `words` are options as on pytest's command line."""
    chosen = options.read(lambda name: words.get(name.removeprefix("--").replace("-", "_")), RUNS)
    with closing(Suite(chosen, quick=False)) as suite:
        suite.open(cells)
        yield suite
