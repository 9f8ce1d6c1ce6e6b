"""Plays a GPU scenario to the real pynvml: compiles the stand-in driver, runs code against it.

pynvml loads libnvidia-ml.so.1 by name and once per process, so each scenario gets a process of
its own with LD_LIBRARY_PATH set.
"""

import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

SOURCE = Path(__file__).with_suffix(".c")
ROOT = SOURCE.parent.parent.parent
FIRST, SECOND = (
    "GPU-bbbbbbbb-0000-0000-0000-000000000001",
    "GPU-aaaaaaaa-0000-0000-0000-000000000002",
)
MIG = "MIG-cccccccc-0000-0000-0000-000000000003"


def play(scenario: str, code: str, **environ: str) -> Any:
    """What `code` leaves in its variable `answer`, as JSON, when the driver plays `scenario`.

    `FIRST`, `SECOND` and `MIG` are UUIDs. Skips the test where there is no C compiler for Linux.
    """
    folder = _built(scenario == "old")
    names = {"FIRST": FIRST, "SECOND": SECOND, "MIG": MIG}
    lines = [
        "import json, sys",
        *(f"{name} = {value!r}" for name, value in names.items()),
        code,
        "assert 'torch' not in sys.modules",
        "print(json.dumps(answer))",
    ]
    hidden = ("CUDA_VISIBLE_DEVICES", "NVML_OWN_PID")
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)],
        cwd=ROOT,
        env={
            **{name: value for name, value in os.environ.items() if name not in hidden},
            "LD_LIBRARY_PATH": folder,
            "NVML_SCENARIO": scenario,
            **environ,
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == "", "nothing here makes noise"
    return json.loads(done.stdout)


def _built(old: bool) -> str:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or sys.platform != "linux":
        pytest.skip("the stand-in driver needs a C compiler on Linux")
    return _compiled(compiler, old).name


@functools.cache
def _compiled(compiler: str, old: bool) -> "tempfile.TemporaryDirectory[str]":
    folder = tempfile.TemporaryDirectory(prefix="nvml-stand-in-")
    library = Path(folder.name, "libnvidia-ml.so.1")
    flags = ["-DOLD_DRIVER"] if old else []
    command = [
        compiler,
        "-Wall",
        "-Werror",
        "-shared",
        "-fPIC",
        *flags,
        "-o",
        str(library),
        str(SOURCE),
    ]
    subprocess.run(command, check=True, timeout=60)
    return folder
