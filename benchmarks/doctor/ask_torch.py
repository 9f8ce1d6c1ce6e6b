"""Runs the child that imports torch, and turns its answer, or its death, into facts."""

import json
from typing import Any

from benchmarks.children import ChildError, ask
from benchmarks.doctor.facts import Torch
from benchmarks.hardware import PROBE_TIMEOUT_S, Hardware, HardwareError


def ask_torch(python: str, timeout_s: float = PROBE_TIMEOUT_S) -> Torch:
    """What `python`'s torch says; a child that crashes or hangs is a reason, not an error."""
    try:
        return _torch(json.loads(ask(python, "benchmarks.doctor.torch_child", timeout_s)))
    except ChildError as error:
        return Torch(reason=f"the process that imports it {error}")


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
