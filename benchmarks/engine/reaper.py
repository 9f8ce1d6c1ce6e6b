"""A process that outlives pytest for a moment, to leave no arm behind when pytest is killed.

It reads from a pipe whose other end only pytest holds. When that closes, however pytest ended,
every arm still on its list is killed. An arm may be stopped at that time (SIGSTOP) or hang in
a C call, so a thread or handler of its own could not be relied on.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress

import psutil


def kill_arm(leader: int) -> None:
    """Kill the leader's whole process group (on Windows, its process tree). Idempotent."""
    if os.name == "posix":
        with suppress(ProcessLookupError):
            os.killpg(leader, signal.SIGKILL)
        return
    try:
        tree = [psutil.Process(leader), *psutil.Process(leader).children(recursive=True)]
    except psutil.NoSuchProcess:
        return
    for process in tree:
        process.kill()


def is_gone(leader: int) -> bool:
    """Whether no process of the leader's group is left; one not yet collected counts as left."""
    if os.name != "posix":
        return not psutil.pid_exists(leader)
    try:
        os.killpg(leader, 0)
    except (ProcessLookupError, PermissionError):  # macOS may not signal zombies
        return True
    return False


class Reaper:
    """pytest's side: says which arms to kill if pytest dies."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", __file__], stdin=subprocess.PIPE, start_new_session=True
        )

    def watch(self, leader: int) -> None:
        self._say(f"+{leader}")

    def forget(self, leader: int) -> None:
        self._say(f"-{leader}")

    def close(self) -> None:
        """Kills what is still on the list and ends the reaper."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def _say(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line.encode() + b"\n")
        self._process.stdin.flush()


def reap(lines: Iterable[str]) -> None:
    """Follow the list in `lines` to its end, then kill what is left on it."""
    watched: set[int] = set()
    for line in lines:
        leader = int(line[1:])
        (watched.add if line[0] == "+" else watched.discard)(leader)
    for leader in watched:
        kill_arm(leader)


if __name__ == "__main__":
    reap(sys.stdin)
