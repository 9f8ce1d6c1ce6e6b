"""All facts of one visit, in the order in which they must be asked."""

import os
from dataclasses import replace
from pathlib import Path

from benchmarks.doctor import driver, host, packages
from benchmarks.doctor.ask_torch import ask_torch
from benchmarks.doctor.facts import Facts


def gather(root: Path, python: str) -> Facts:
    """Facts about `python` on this machine, whose /dev, /proc and /sys are under `root`."""
    before = host.throttle_events(root)
    torch = ask_torch(python)  # importing torch is also the load under which a CPU throttles
    after = host.throttle_events(root)
    around = host.look(root, os.environ)
    if before is not None and after is not None:
        around = replace(around, throttle_events=after - before)
    return Facts(
        packages=packages.look(python),
        torch=torch,
        driver=driver.look(root, os.environ),
        host=around,
    )
