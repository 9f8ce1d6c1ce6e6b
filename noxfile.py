"""One environment, .venv, for every session: torch with CUDA is over 5 GB."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import nox
from packaging.requirements import Requirement

nox.options.default_venv_backend = "none"  # .venv is made here, once, not by nox per session
nox.options.sessions = ["tests"]

ROOT = Path(__file__).parent
PROJECT = nox.project.load_toml(ROOT / "pyproject.toml")
SUITE = tuple(PROJECT["project"]["dependencies"])
DEV = tuple(nox.project.dependency_groups(PROJECT, "dev"))
LIST_INSTALLED = (
    "import importlib.metadata as m, json; print(json.dumps("
    "{d.metadata['Name']: d.version for d in m.distributions() if d.metadata['Name']}))"
)


def missing(python: str, requirements: tuple[str, ...]) -> list[str]:
    """The requirements that the interpreter `python` does not satisfy."""
    listing = subprocess.run(
        [python, "-c", LIST_INSTALLED], check=True, capture_output=True, text=True, cwd=ROOT.parent
    ).stdout
    installed = {normal(name): found for name, found in json.loads(listing).items()}
    return [
        str(wanted)
        for wanted in map(Requirement, requirements)
        if (wanted.marker is None or wanted.marker.evaluate())
        and not satisfied(wanted, installed.get(normal(wanted.name)))
    ]


def satisfied(wanted: Requirement, version: str | None) -> bool:
    """Whether the installed `version` will do; None: not installed, which nothing will do for."""
    return version is not None and wanted.specifier.contains(version, prereleases=True)


def normal(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")


def interpreter(session: nox.Session, requirements: tuple[str, ...]) -> str:
    """Path of the Python to run in, with everything `requirements` asks for installed.

    `--no-venv` takes the current interpreter as it is: containers bring a torch of their own.
    """
    if session._runner.global_config.force_venv_backend == "none":
        if lacking := missing(sys.executable, requirements):
            session.error(
                f"{sys.executable} lacks {', '.join(lacking)}: "
                "install them, or leave out --no-venv and nox installs into .venv"
            )
        return sys.executable
    python = python_of_venv()
    if python is None:
        session.run(
            sys.executable, "-m", "virtualenv", "--quiet", str(ROOT / ".venv"), external=True
        )
        python = python_of_venv() or session.error(".venv was made without a Python in it")
    if lacking := missing(python, requirements):
        session.log(f"installing into .venv: {', '.join(lacking)}")
        session.run(*installer(session, python), *lacking, external=True)
    return python


def python_of_venv() -> str | None:
    """Path of .venv's Python, None where there is no .venv yet."""
    scripts = ROOT / ".venv" / ("Scripts" if os.name == "nt" else "bin")
    return shutil.which("python", path=str(scripts))


def installer(session: nox.Session, python: str) -> list[str]:
    """The command that installs what is appended: pip's, or uv's where uv made a .venv without."""
    has_pip = subprocess.run([python, "-m", "pip", "--version"], capture_output=True, check=False)
    if has_pip.returncode == 0:
        return [python, "-m", "pip", "install"]
    if shutil.which("uv"):
        return ["uv", "pip", "install", "--python", python]
    return session.error(f"{python} has no pip, and there is no uv: delete .venv and run nox again")


@nox.session
def bench(session: nox.Session) -> None:
    """Measure what fits this machine; arguments after -- go to pytest."""
    python = interpreter(session, SUITE)
    session.run(
        python, "-m", "pytest", "benchmarks", "--attribute", "best", *session.posargs, external=True
    )


@nox.session
def recipe(session: nox.Session) -> None:
    """Find the combination of techniques that pays here: -- --workload NAME --budget 20m."""
    python = interpreter(session, SUITE)
    session.run(python, "-m", "benchmarks", "recipe", *session.posargs, external=True)


@nox.session
def regress(session: nox.Session) -> None:
    """Gate this tree against a revision or another Python: -- --against REV."""
    python = interpreter(session, SUITE)
    session.run(python, "-m", "benchmarks", "regress", *session.posargs, external=True)


@nox.session
def calibrate(session: nox.Session) -> None:
    """Measure which slowdowns this machine can show, how surely, and how fast."""
    python = interpreter(session, SUITE)
    session.run(python, "-m", "benchmarks", "calibrate", *session.posargs, external=True)


@nox.session
def doctor(session: nox.Session) -> None:
    """Say what this machine can train with, and what to mend; installs nothing."""
    bare = session._runner.global_config.force_venv_backend == "none"
    python = sys.executable if bare else python_of_venv() or sys.executable
    session.run(python, "-m", "benchmarks", "doctor", external=True)


@nox.session
def tests(session: nox.Session) -> None:
    """Formatting, lint, strict types, tests."""
    python = interpreter(session, SUITE + DEV)
    session.run(python, "-m", "ruff", "format", "--check", ".", external=True)
    session.run(python, "-m", "ruff", "check", ".", external=True)
    session.run(python, "-m", "mypy", external=True)
    session.run(python, "-m", "pytest", "tests", *session.posargs, external=True)
