"""One cache of generated data for all tests of this room."""

import pytest

from workloads import Source


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Source:
    """Nothing of the user's, data generated once."""
    return Source(cache=tmp_path_factory.mktemp("cache"))
