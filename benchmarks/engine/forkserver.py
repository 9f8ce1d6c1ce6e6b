"""The fork server: imports torch once, then forks an arm for each line of JSON on its stdin.

Nothing here may start a thread or a parallel operation of torch: neither survives a fork.
Answers on stdout: {"started": pid}, and {"ended": pid, "status": exit code or -signal}.
"""

import json
import os
import select
import signal
import sys
import traceback
from typing import Any

from benchmarks.ranks.rank import run_arm

PRELOADED = (
    "torch",
    "torch.distributed.launcher.api",
    "torch.distributed.elastic.multiprocessing",
    "torch.nn.parallel",
    "torch.utils.data",
    "torchvision",
    "torchvision.transforms.v2",
    "workloads.images",
    "workloads.text",
    "workloads.transformer",
    "benchmarks.ranks.evidence",
)


def main() -> None:
    for name in PRELOADED:
        __import__(name)
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # whatever a library prints must not pass for an answer
    serve(answers)


def serve(answers: Any) -> None:
    child_ended, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    pending = b""
    while True:
        ready, _, _ = select.select([0, child_ended], [], [])
        if child_ended in ready:
            os.read(child_ended, 4096)
            report_ended(answers)
        if 0 not in ready:
            continue
        received = os.read(0, 1 << 16)
        if not received:  # pytest is gone; its arms are the reaper's
            return
        *lines, pending = (pending + received).split(b"\n")
        for line in lines:
            pid = os.fork()
            if pid == 0:
                answers.close()
                os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # what an arm reads is no order
                become_arm(json.loads(line))
            os.setpgid(pid, pid)  # before it can be paused or killed as a group
            print(json.dumps({"started": pid}), file=answers)


def report_ended(answers: Any) -> None:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        print(json.dumps({"ended": pid, "status": os.waitstatus_to_exitcode(status)}), file=answers)


def become_arm(job: dict[str, Any]) -> None:
    """In the child: never returns into the server's loop."""
    code = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        code = run_arm(job)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    main()
