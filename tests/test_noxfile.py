"""What nox finds missing from an environment, and so installs."""

import sys

import pytest

from noxfile import missing


@pytest.mark.parametrize("wanted", ["no-such-package", "no-such-package>=1", "torch>=99"])
def test_what_is_absent_or_too_old_is_missing(wanted: str) -> None:
    assert missing(sys.executable, (wanted,)) == [wanted]


@pytest.mark.parametrize("wanted", ["torch", "nvidia_ml.py>=12", "absent; python_version < '3'"])
def test_what_is_installed_or_not_meant_for_this_python_is_not(wanted: str) -> None:
    assert missing(sys.executable, (wanted,)) == []
