"""Which of the packages that pyproject.toml asks for an interpreter has, without importing any."""

import json
import re
import subprocess
import tomllib
from pathlib import Path

from benchmarks.doctor.facts import Packages

PYPROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"
TIMEOUT_S = 60.0
LIST_INSTALLED = """
import json, platform, sys
from importlib import metadata
def version(name):
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
print(json.dumps([platform.python_version(), {name: version(name) for name in sys.argv[1:]}]))
"""


def look(python: str, pyproject: Path = PYPROJECT) -> Packages:
    """Versions in `python`'s environment; raises OSError or ValueError where it does not run."""
    required = requirements(pyproject)
    done = subprocess.run(
        [python, "-c", LIST_INSTALLED, *required],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    version, installed = json.loads(done.stdout)
    return Packages(executable=python, python=version, required=required, installed=installed)


def requirements(pyproject: Path) -> dict[str, str]:
    """The suite's own requirements as {name: oldest version}; "0" where any will do."""
    project = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]
    found = {}
    for line in project["dependencies"]:
        if match := re.match(r"([\w.-]+)", line):
            oldest = re.search(r">=\s*([\w.]+)", line)
            found[match[1]] = oldest[1] if oldest else "0"
    return found
