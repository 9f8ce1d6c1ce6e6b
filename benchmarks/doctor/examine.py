"""One visit: gather, judge, print, and end with the exit code that a script can use."""

import sys
from pathlib import Path

from benchmarks.doctor.checks import diagnose
from benchmarks.doctor.finding import Level
from benchmarks.doctor.gather import gather
from benchmarks.doctor.page import page

HEALTHY, TO_MEND = 0, 1


def examine(root: Path = Path("/"), python: str = sys.executable) -> int:
    """Print the page about `python` on this machine; 1 if something must be mended, else 0.

    `root` is where /dev, /proc and /sys are read.
    """
    facts = gather(root, python)
    findings = diagnose(facts)
    print(page(facts, findings), end="", flush=True)
    return TO_MEND if any(finding.level is Level.MEND for finding in findings) else HEALTHY
