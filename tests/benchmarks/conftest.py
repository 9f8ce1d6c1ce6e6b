"""One fork server and one reaper for all tests with real arms: importing torch takes seconds."""

from collections.abc import Iterator

import pytest

from benchmarks.engine.launcher import Environment, Launcher, launcher_for
from benchmarks.engine.reaper import Reaper


@pytest.fixture(scope="session")
def launcher() -> Iterator[Launcher]:
    """The fork server where there is one."""
    launcher = launcher_for(Environment(variables=(("OMP_NUM_THREADS", "1"),)))
    yield launcher
    launcher.close()


@pytest.fixture(scope="session")
def reaper() -> Iterator[Reaper]:
    reaper = Reaper()
    yield reaper
    reaper.close()
