"""What torch says about itself and its devices: run as a child, prints one line of JSON.

Each question is asked on its own, because a torch that is half broken still answers some, and
those answers tell what is wrong with it.
"""

import importlib
import importlib.util
import itertools
import json
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


def answers() -> dict[str, Any]:
    """The fields of `benchmarks.doctor.facts.Torch` as plain values."""
    if importlib.util.find_spec("torch") is None:
        return {"reason": "not installed"}
    try:
        import torch
    except Exception as error:  # a missing library is an OSError, a broken package anything
        return {"reason": _named(error)}
    built_for, runtime = _build(torch)
    torchvision, torchvision_reason = _import("torchvision")
    hardware, hardware_reason = _hardware()
    return {
        "version": _ask(lambda: str(torch.__version__)) or "of unknown version",
        "built_for": built_for,
        "runtime": runtime,
        "arch_list": _ask(lambda: _arch_list(torch)) or [],
        "nccl": _ask(lambda: _nccl(torch)),
        "torchvision": torchvision,
        "torchvision_reason": torchvision_reason,
        "peer_pairs": _ask(lambda: _peer_pairs(torch)),
        "hardware": hardware,
        "hardware_reason": hardware_reason,
    }


def _build(torch: Any) -> tuple[str | None, str | None]:
    for kind, name in (("cuda", "cuda"), ("rocm", "hip"), ("xpu", "xpu")):
        if version := getattr(torch.version, name, None):
            return kind, str(version)
    return None, None


def _arch_list(torch: Any) -> list[str]:
    """torch.cuda.get_arch_list() is empty where no GPU is usable: when it is needed most."""
    return str(torch._C._cuda_getArchFlags()).split()


def _nccl(torch: Any) -> str | None:
    if not torch.distributed.is_nccl_available():
        return None
    return ".".join(str(part) for part in torch.cuda.nccl.version())


def _peer_pairs(torch: Any) -> list[tuple[int, int]] | None:
    """Pairs of GPUs that can read each other's memory directly, both ways."""
    if not torch.cuda.is_available():
        return None
    reaches = torch.cuda.can_device_access_peer
    pairs = itertools.combinations(range(torch.cuda.device_count()), 2)
    return [(one, two) for one, two in pairs if reaches(one, two) and reaches(two, one)]


def _hardware() -> tuple[dict[str, Any] | None, str | None]:
    try:
        from benchmarks.hardware import probe

        return json.loads(probe().to_json()), None
    except Exception as error:
        return None, _named(error)


def _import(name: str) -> tuple[str | None, str | None]:
    if importlib.util.find_spec(name) is None:
        return None, "not installed"
    try:
        return str(importlib.import_module(name).__version__), None
    except Exception as error:
        return None, _named(error)


def _ask(question: Callable[[], T]) -> T | None:
    try:
        return question()
    except Exception:  # this build cannot answer it: unknown
        return None


def _named(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else 'without a message'}"


if __name__ == "__main__":
    print(json.dumps(answers()))
