"""Where the two arms of a gate come from: a git revision or another interpreter, and here."""

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from benchmarks.engine.launcher import ROOT, Environment, Origin
from benchmarks.options import OptionError


@contextmanager
def worktree(repository: Path, revision: str) -> Iterator[Path]:
    """A checkout of `revision` beside the working tree, removed afterwards.

    Raises:
        OptionError: the folder is in no git repository, or has no such revision.
    """
    top = Path(_git(repository, "rev-parse", "--show-toplevel"))
    commit = _git(top, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
    with tempfile.TemporaryDirectory(prefix="revision-") as folder:
        tree = Path(folder) / "tree"
        try:
            _git(top, "worktree", "add", "--quiet", "--detach", str(tree), commit)
            yield tree
        finally:
            with suppress(
                OptionError
            ):  # a checkout that cannot be undone must not cost the verdict
                _git(top, "worktree", "remove", "--force", str(tree))


@contextmanager
def from_revision(workload: str, revision: str) -> Iterator[Origin]:
    """The workload as it was: of the suite's own repository, or of the file's.

    The harness stays the one of the working tree: only what is trained comes from the revision.
    """
    file, colon, name = workload.rpartition(":")
    repository = Path(file).parent if colon else ROOT
    with worktree(repository, revision) as tree, tempfile.TemporaryDirectory() as shadow:
        if not colon:
            (Path(shadow) / "workloads").symlink_to(tree / "workloads", target_is_directory=True)
            yield Origin(workload, Environment(shadow=Path(shadow)))
            return
        top = Path(_git(repository, "rev-parse", "--show-toplevel"))
        old = tree / Path(file).resolve().relative_to(top)
        if not old.is_file():
            raise OptionError(f"--against {revision}: that revision has no {old.relative_to(tree)}")
        yield Origin(f"{old}:{name}")


def from_python(workload: str, python: str) -> Origin:
    """The same sources under another interpreter.

    Raises:
        OptionError: it does not start, or lacks torch.
    """
    try:
        done = subprocess.run(
            [python, "-c", "import torch, torchvision, psutil, numpy, PIL"],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise OptionError(f"--against-python {python}: does not run ({error})") from error
    if done.returncode != 0:
        said = done.stderr.strip().splitlines() or ["no message"]
        raise OptionError(f"--against-python {python}: {said[-1]}")
    return Origin(workload, Environment(python=python))


def _git(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(folder), *words], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        said = done.stderr.strip().splitlines() or [f"no such revision ({words[-1]})"]
        raise OptionError(f"git {words[0]} in {folder}: {said[-1]}")
    return done.stdout.strip()
