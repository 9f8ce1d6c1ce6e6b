"""Where arms come from: a fork server that has torch loaded, or a fresh interpreter.

Forking from a server takes tens of milliseconds, a fresh interpreter seconds of imports. One
server serves one environment: an interpreter, a source tree and environment variables.
"""

import json
import os
import select
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

Job = dict[str, Any]  # what an arm is to do, as JSON: see `rank.py`
ROOT = Path(__file__).resolve().parents[2]


class LaunchError(Exception):
    """No arm can be started; one line that says why."""


@dataclass(frozen=True)
class Environment:
    """Where an arm runs: which Python, which extra variables, and whose packages go before ours."""

    python: str = sys.executable
    shadow: Path | None = None
    variables: tuple[tuple[str, str], ...] = ()

    def process_variables(self) -> dict[str, str]:
        folders = (str(self.shadow or ""), str(ROOT), os.environ.get("PYTHONPATH", ""))
        path = os.pathsep.join(filter(None, folders))
        return {**os.environ, **dict(self.variables), "PYTHONPATH": path}


@dataclass(frozen=True)
class Origin:
    """Where an arm's training comes from: a workload's name, in an environment."""

    workload: str
    environment: Environment = Environment()


class Process(Protocol):
    """A started arm's leader."""

    pid: int

    def exit_status(self) -> int | None:
        """None while it lives; then its exit code, negative for a signal."""


class Launcher(Protocol):
    def start(self, job: Job) -> Process: ...
    def close(self) -> None: ...


def launcher_for(environment: Environment) -> Launcher:
    """A fork server on Linux; elsewhere torch and fork do not go together."""
    return ForkServer(environment) if sys.platform == "linux" else FreshInterpreter(environment)


class FreshInterpreter:
    """Starts each arm in an interpreter of its own; `prefix` is a command that runs it."""

    def __init__(self, environment: Environment, prefix: Sequence[str] = ()) -> None:
        self._environment = environment
        self._prefix = prefix

    def start(self, job: Job) -> Process:
        return _Child(
            subprocess.Popen(
                [
                    *self._prefix,
                    self._environment.python,
                    "-P",
                    "-m",
                    "benchmarks.ranks.rank",
                    json.dumps(job),
                ],
                env=self._environment.process_variables(),
                stdin=subprocess.DEVNULL,
                process_group=0 if os.name == "posix" else None,
            )
        )

    def close(self) -> None:
        """Nothing is kept between arms."""


class _Child:
    def __init__(self, popen: "subprocess.Popen[bytes]") -> None:
        self._popen = popen
        self.pid = popen.pid

    def exit_status(self) -> int | None:
        return self._popen.poll()


class ForkServer:
    """pytest's side of `forkserver.py`: one line of JSON asks for an arm, one line answers."""

    def __init__(self, environment: Environment) -> None:
        self._server = subprocess.Popen(
            [environment.python, "-P", "-m", "benchmarks.engine.forkserver"],
            env=environment.process_variables(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # a Ctrl-C in the terminal is pytest's to handle
        )
        self._pending = b""
        self._ended: dict[int, int] = {}

    def start(self, job: Job) -> Process:
        assert self._server.stdin is not None
        try:
            self._server.stdin.write(json.dumps(job).encode() + b"\n")
            self._server.stdin.flush()
        except OSError as error:
            raise self._gone() from error
        while True:
            message = self._read(timeout_s=120.0)  # a first start waits for torch's import
            if message is None:
                raise LaunchError("the fork server did not answer within 120 s")
            if "started" in message:
                self._ended.pop(message["started"], None)  # process ids come back
                return _Forked(self, message["started"])

    def exit_status(self, pid: int) -> int | None:
        while pid not in self._ended and self._read(timeout_s=0.0):
            pass
        return self._ended.get(pid)

    def close(self) -> None:
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        with suppress(BrokenPipeError):  # it may have ended before us
            self._server.stdin.close()
        self._server.stdout.close()
        self._server.wait()

    def _read(self, timeout_s: float) -> dict[str, int] | None:
        assert self._server.stdout is not None
        descriptor = self._server.stdout.fileno()
        while b"\n" not in self._pending:
            if not select.select([descriptor], [], [], timeout_s)[0]:
                return None
            received = os.read(descriptor, 1 << 16)
            if not received:
                raise self._gone()
            self._pending += received
        line, _, self._pending = self._pending.partition(b"\n")
        message: dict[str, int] = json.loads(line)
        if "ended" in message:
            self._ended[message["ended"]] = message["status"]
        return message

    def _gone(self) -> LaunchError:
        status = self._server.wait()
        return LaunchError(f"the fork server ended with status {status}: see what it said above")


class _Forked:
    def __init__(self, server: ForkServer, pid: int) -> None:
        self._server = server
        self.pid = pid

    def exit_status(self) -> int | None:
        return self._server.exit_status(self.pid)
