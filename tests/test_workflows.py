"""The workflows of this repository, and the one that the README offers to others, are sound."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.__main__ import parser

ROOT = Path(__file__).parent.parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
MOST_LINES = 10


def complaints(*files: Path) -> str:
    """What GitHub's published schema of workflows has against them; empty where nothing."""
    checked = subprocess.run(
        [
            *(sys.executable, "-m", "check_jsonschema"),
            *("--builtin-schema", "vendor.github-workflows", *map(str, files)),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    return "" if checked.returncode == 0 else checked.stdout + checked.stderr


def offered() -> str:
    """The README's workflow for another repository."""
    [snippet] = re.findall(
        r"```yaml\n(on: pull_request\n.*?)```", (ROOT / "README.md").read_text(), re.S
    )
    return str(snippet)


def regress_words(shell: str) -> list[str]:
    """The words of the one call of `regress` in a shell script, after the command's name."""
    joined = shell.replace("\\\n", " ")
    [line] = [line for line in joined.splitlines() if " regress " in line and "--against" in line]
    words = shlex.split(line.partition(" regress ")[2].partition("||")[0])
    return [word for word in words if word != "--"]


def test_there_are_workflows_for_pushes_pull_requests_and_nights() -> None:
    assert [path.stem for path in WORKFLOWS] == ["gate", "nightly", "tests"]


def test_they_follow_githubs_schema() -> None:
    assert complaints(*WORKFLOWS) == ""


def test_a_workflow_that_does_not_is_refused(tmp_path: Path) -> None:
    broken = tmp_path / "broken.yml"
    broken.write_text(WORKFLOWS[0].read_text().replace("runs-on", "run-on"))
    assert complaints(broken)


@pytest.mark.skipif(shutil.which("actionlint") is None, reason="no actionlint on the PATH")
def test_actionlint_finds_nothing() -> None:
    found = subprocess.run(
        ["actionlint", "-no-color", *map(str, WORKFLOWS)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stdout + found.stderr


@pytest.mark.parametrize("path", WORKFLOWS, ids=[path.stem for path in WORKFLOWS])
def test_what_strangers_write_is_never_part_of_a_script(path: Path) -> None:
    """`${{ }}` in a script is pasted before the shell reads it: a branch's name would be run."""
    scripts = re.findall(r"run: (?:\|\n((?:          .*\n|\n)+)|(.*)\n)", path.read_text())
    assert scripts
    assert not [script for script in scripts if "${{" in "".join(script)]


def test_the_gate_is_called_as_it_wants_to_be() -> None:
    words = regress_words((ROOT / ".github" / "workflows" / "gate.yml").read_text())
    arguments = parser(["regress"]).parse_args(["regress", *words])
    assert arguments.against
    assert (str(arguments.markdown), str(arguments.json)) == ("gate.md", "gate.json")


def test_the_readmes_workflow_is_ten_lines_and_valid(tmp_path: Path) -> None:
    snippet = offered()
    assert len(snippet.splitlines()) <= MOST_LINES
    (tmp_path / "speed.yml").write_text(snippet)
    assert complaints(tmp_path / "speed.yml") == ""


def test_the_readmes_workflow_calls_the_gate_as_it_wants_to_be() -> None:
    arguments = parser(["regress"]).parse_args(["regress", *regress_words(offered())])
    assert arguments.against == "origin/$GITHUB_BASE_REF"
    assert arguments.workload.endswith(".py:mine")
