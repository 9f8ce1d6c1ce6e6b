"""Runs the child that imports torch, and turns its answer, or its death, into facts."""

import json
import subprocess
from pathlib import Path
from typing import Any

from benchmarks.doctor.facts import Torch
from benchmarks.hardware import PROBE_TIMEOUT_S, Hardware, HardwareError

ROOT = Path(__file__).resolve().parents[2]


def ask_torch(python: str, timeout_s: float = PROBE_TIMEOUT_S) -> Torch:
    """What `python`'s torch says; a child that crashes or hangs is a reason, not an error."""
    try:
        child = subprocess.run(
            [python, "-m", "benchmarks.doctor.torch_child"],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Torch(reason=f"importing it took over {timeout_s:g} s")
    except OSError as error:
        return Torch(reason=f"cannot run {python}: {error.strerror or error}")
    lines = [line for line in child.stdout.splitlines() if line.startswith("{")]
    if child.returncode or not lines:
        return Torch(reason=_how_it_died(child.returncode, child.stderr))
    return _torch(json.loads(lines[-1]))


def _torch(answers: dict[str, Any]) -> Torch:
    hardware = answers.pop("hardware", None)
    reason = answers.pop("hardware_reason", None)
    pairs = answers.pop("peer_pairs", None)
    described = None
    if hardware is not None:
        try:
            described = Hardware.from_json(json.dumps(hardware))
        except HardwareError as error:
            reason = str(error)
    return Torch(
        **{**answers, "arch_list": tuple(answers.get("arch_list", ()))},
        peer_pairs=None if pairs is None else tuple((one, two) for one, two in pairs),
        hardware=described,
        hardware_reason=reason,
    )


def _how_it_died(returncode: int, said: str) -> str:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    how = f"signal {-returncode}" if returncode < 0 else f"exit code {returncode}"
    return f"the process that imports it ended with {how}: {lines[-1] if lines else 'silently'}"
