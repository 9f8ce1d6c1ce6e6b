"""What nox finds missing from an environment, and so installs."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from noxfile import installer, missing

NO_SESSION: Any = None  # asked only to complain


@pytest.mark.parametrize("wanted", ["no-such-package", "no-such-package>=1", "torch>=99"])
def test_what_is_absent_or_too_old_is_missing(wanted: str) -> None:
    assert missing(sys.executable, (wanted,)) == [wanted]


@pytest.mark.parametrize("wanted", ["torch", "nvidia_ml.py>=12", "absent; python_version < '3'"])
def test_what_is_installed_or_not_meant_for_this_python_is_not(wanted: str) -> None:
    assert missing(sys.executable, (wanted,)) == []


def test_an_environment_with_pip_installs_with_it() -> None:
    assert installer(NO_SESSION, sys.executable) == [sys.executable, "-m", "pip", "install"]


@pytest.mark.skipif(os.name != "posix", reason="the stand-in for uv is a shell script")
def test_one_that_uv_made_without_pip_installs_with_uv(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("python", "uv"):
        stand_in = tmp_path / name
        stand_in.write_text("#!/bin/sh\nexit 1\n")  # "No module named pip"
        stand_in.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    python = str(tmp_path / "python")
    # uv has no options between `pip` and `install`
    assert installer(NO_SESSION, python) == ["uv", "pip", "install", "--python", python]
