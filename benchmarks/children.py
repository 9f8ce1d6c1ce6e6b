"""Asks a question in a process of its own, a module that answers in one line of JSON.

What imports torch, or touches a driver, may crash or hang: then it is a child that does.
"""

import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


class ChildError(RuntimeError):
    """There is no answer; the message is half a sentence that says why."""


def ask(python: str, module: str, timeout_s: float) -> str:
    """The last line of JSON that `python -m module` prints.

    Raises ChildError: it cannot be run, took over `timeout_s` seconds, or ended otherwise, with the
    last thing it said.
    """
    try:
        child = subprocess.run(
            [python, "-m", module],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ChildError(f"took over {timeout_s:g} s; is a driver hanging?") from None
    except OSError as error:
        raise ChildError(f"cannot be started, {python}: {error.strerror or error}") from None
    answers = [line for line in child.stdout.splitlines() if line.startswith("{")]
    if child.returncode or not answers:
        last = next(_backwards(child.stderr, child.stdout), "silently")
        raise ChildError(f"ended with {_ending(child.returncode)}: {last}")
    return answers[-1]


def _backwards(*texts: str) -> Iterator[str]:
    """Lines with something in them, the last one first, of one text after the other."""
    for text in texts:
        yield from (line.strip() for line in reversed(text.splitlines()) if line.strip())


def _ending(returncode: int) -> str:
    return f"signal {-returncode}" if returncode < 0 else f"exit code {returncode}"
