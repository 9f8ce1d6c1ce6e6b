"""Sends the doctor to a made-up machine: /dev, /proc and /sys, a driver and a torch to measure."""

import json
import os
import sys
from pathlib import Path
from typing import Any, NamedTuple

from tests.benchmarks.nvml_stand_in import play

STAND_IN = Path(__file__).with_name("stand_in")
H200 = ["NVIDIA H200", [9, 0]]
CODE = """
import contextlib, io, os, sysconfig
from pathlib import Path
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
sysconfig.get_path = lambda name: {headers!r}
{before}
from benchmarks.doctor.examine import examine
said = io.StringIO()
with contextlib.redirect_stdout(said):
    code = examine(Path({root!r}), {python!r})
answer = [said.getvalue(), code]
"""


class Visit(NamedTuple):
    """What the doctor printed, and its exit code."""

    page: str
    code: int

    def finding(self, words: str) -> str:
        """The whole finding, in lower case with its level, whose first line holds `words`."""
        _, *findings = self.page.split("\n\n")
        found = [each for each in findings if words in each.splitlines()[0]]
        assert len(found) == 1, self.page
        assert len(found[0].splitlines()) == 3, "what, evidence, advice: a line each"
        return found[0]

    @property
    def headings(self) -> list[str]:
        """The first line of every finding, without its number."""
        _, *findings = self.page.rstrip().split("\n\n")
        return [each.splitlines()[0].partition(". ")[2] for each in findings[:-1]]


def visit(
    root: Path,
    torch: dict[str, Any] | None = None,
    scenario: str = "no_driver",
    before: str = "",
    python: str = sys.executable,
    **environ: str,
) -> Visit:
    """The doctor on the machine `root`, whose driver plays `scenario` and whose torch says `torch`.

    `before` is code that the doctor's own process runs first. It gets two cores at most, a compiler
    and headers, so that the findings are the same wherever the tests run.
    """
    tools = _a_compiler_and_headers(root)
    code = CODE.format(root=str(root), python=python, before=before, headers=str(tools))
    path = f"{tools}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    outside = {"PATH": path, "KUBERNETES_SERVICE_HOST": "", "container": "", "CXX": "", "CC": ""}
    stand_in = {"PYTHONPATH": str(STAND_IN), "STAND_IN_TORCH": json.dumps(torch or {})}
    return Visit(*play(scenario, code, **{**outside, **stand_in, **environ}))


def _a_compiler_and_headers(root: Path) -> Path:
    write(root, "tools/Python.h", "")
    for name in ("g++", "gcc"):
        write(root, f"tools/{name}", "#!/bin/sh\n")
        (root / "tools" / name).chmod(0o755)
    return root / "tools"


def a_root(folder: Path, *files: str) -> Path:
    """A root directory with /dev/shm and empty `files`; `write` adds those that say something."""
    (folder / "dev/shm").mkdir(parents=True)
    for name in files:
        write(folder, name, "")
    return folder


def write(root: Path, name: str, text: str) -> None:
    """A file under `root`, with its folders."""
    path = root / name.lstrip("/")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def put_gpu_on_bus(root: Path, vendor: str = "0x10de") -> None:
    """A 3D controller, as the bus shows one whether or not there is a driver."""
    write(root, "sys/bus/pci/devices/0000:01:00.0/vendor", vendor + "\n")
    write(root, "sys/bus/pci/devices/0000:01:00.0/class", "0x030200\n")


def load_module(root: Path, version: str = "580.65.06") -> None:
    """NVIDIA's kernel module, as it shows itself."""
    line = f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {version}  Sat Jul 12 2025\n"
    write(root, "proc/driver/nvidia/version", line)
