"""Where the old arm comes from: revisions checked out beside the tree, and other interpreters."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.options import OptionError
from benchmarks.regress.origins import from_python, from_revision, worktree


def git(folder: Path, *words: str) -> str:
    names = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    return subprocess.run(
        ["git", "-C", str(folder), *names, *words], check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Two commits of one file, the first one tagged `old`."""
    folder = tmp_path / "repository"
    (folder / "models").mkdir(parents=True)
    git(folder.parent, "init", "--quiet", str(folder))
    for text, tag in (("mine = 1\n", "old"), ("mine = 2\n", "new")):
        (folder / "models" / "mine.py").write_text(text)
        git(folder, "add", ".")
        git(folder, "commit", "--quiet", "-m", tag)
        git(folder, "tag", tag)
    return folder


def test_a_worktree_holds_the_revision_and_is_removed_afterwards(repository: Path) -> None:
    with worktree(repository, "old") as tree:
        assert (tree / "models" / "mine.py").read_text() == "mine = 1\n"
        assert (repository / "models" / "mine.py").read_text() == "mine = 2\n"
    assert not tree.exists()
    assert len(git(repository, "worktree", "list").splitlines()) == 1


def test_a_worktree_is_removed_after_a_fault_too(repository: Path) -> None:
    with pytest.raises(RuntimeError), worktree(repository, "old"):
        raise RuntimeError
    assert len(git(repository, "worktree", "list").splitlines()) == 1


def test_a_checkout_that_is_gone_already_does_not_cost_the_verdict(repository: Path) -> None:
    with worktree(repository, "old") as tree:
        (tree / ".git").unlink()
        shutil.rmtree(tree)
    assert not tree.exists()


def test_a_users_workload_is_the_one_of_its_own_repository(repository: Path) -> None:
    reference = f"{repository / 'models' / 'mine.py'}:mine"
    with from_revision(reference, "old") as origin:
        file, _, name = origin.workload.rpartition(":")
        assert Path(file).read_text() == "mine = 1\n"
        assert name == "mine"
        assert origin.environment.shadow is None


def test_a_catalogued_workload_comes_before_the_trees_own_package() -> None:
    with from_revision("resnet18", "HEAD") as origin:
        shadow = origin.environment.shadow
        assert shadow is not None
        assert (shadow / "workloads" / "catalog.py").is_file()
        first = origin.environment.process_variables()["PYTHONPATH"].split(":")[0]
        assert first == str(shadow)


@pytest.mark.parametrize("revision", ["nonsense", "--help"])
def test_a_revision_that_is_none_is_an_error_of_use(repository: Path, revision: str) -> None:
    with pytest.raises(OptionError), worktree(repository, revision):
        pass


def test_a_file_that_the_revision_does_not_have_is_an_error_of_use(repository: Path) -> None:
    (repository / "models" / "later.py").write_text("later = 1\n")
    with (
        pytest.raises(OptionError, match=r"has no models/later\.py"),
        from_revision(f"{repository / 'models' / 'later.py'}:later", "old"),
    ):
        pass


def test_another_interpreter_must_start_and_have_torch(tmp_path: Path) -> None:
    assert from_python("gpt2", sys.executable).environment.python == sys.executable
    with pytest.raises(OptionError, match="does not run"):
        from_python("gpt2", str(tmp_path / "python"))
    bare = tmp_path / "bare"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S -I "$@"\n')
    bare.chmod(0o755)
    with pytest.raises(OptionError, match="No module named"):
        from_python("gpt2", str(bare))
