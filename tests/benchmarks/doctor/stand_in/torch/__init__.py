"""A torch that answers what the doctor and the hardware probe ask, as STAND_IN_TORCH says.

`gpus` is a list of [name, [major, minor]]; `usable` says whether an addition on them works.
"""

import json
import os
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace as Part
from typing import Any

_SAYS: dict[str, Any] = {
    "version": "2.14.1+cu130",
    "cuda": "13.0",
    "hip": None,
    "arch_list": "sm_80 sm_90",
    "nccl": [2, 30, 7],
    "gpus": [],
    "usable": True,
    "peers": [],
    **json.loads(os.environ["STAND_IN_TORCH"]),
}
if "raises" in _SAYS:
    raise OSError(_SAYS["raises"])
if "heats" in _SAYS:
    Path(_SAYS["heats"]).write_text("12")
if "dies" in _SAYS:
    os.kill(os.getpid(), _SAYS["dies"])

_GPUS = _SAYS["gpus"]


class _Ones:
    def __add__(self, other: int) -> "_Ones":
        return self

    def sum(self) -> float:
        if not _SAYS["usable"]:
            raise RuntimeError("CUDA error: no kernel image is available for execution\nmore of it")
        return 4.0


def ones(size: int, device: str) -> _Ones:
    return _Ones()


def _properties(index: int) -> Part:
    name, (major, minor) = _GPUS[index]
    return Part(name=name, major=major, minor=minor, total_memory=80 << 30, uuid=f"u-{index}")


def get_device_module(kind: str) -> Part:
    return cuda


def _yes() -> bool:
    return True


def _no() -> bool:
    return False


__version__ = _SAYS["version"]
version = Part(cuda=_SAYS["cuda"], hip=_SAYS["hip"], git_version="0")
_C = Part(_cuda_getArchFlags=lambda: _SAYS["arch_list"])
cuda = Part(
    is_available=lambda: bool(_GPUS),
    device_count=lambda: len(_GPUS),
    device=lambda index: nullcontext(),
    get_device_properties=_properties,
    is_bf16_supported=lambda including_emulation: True,
    get_arch_list=_SAYS["arch_list"].split,
    can_device_access_peer=lambda one, two: sorted((one, two)) in _SAYS["peers"],
    nccl=Part(version=lambda: _SAYS["nccl"]),
)
xpu = Part(is_available=_no)
accelerator = Part(
    is_available=lambda: bool(_GPUS),
    current_accelerator=lambda: Part(type="cuda"),
    device_count=lambda: len(_GPUS),
)
distributed = Part(is_nccl_available=lambda: _SAYS["nccl"] is not None)
_flags = {"allow_tf32": True, "enabled": True, "benchmark": False, "deterministic": False}
backends = Part(
    mps=Part(is_available=_no),
    cudnn=Part(is_available=_no, **_flags),
    cpu=Part(get_cpu_capability=lambda: "AVX2"),
    cuda=Part(matmul=Part(allow_tf32=False)),
    mkl=Part(is_available=_yes),
    mkldnn=Part(is_available=_yes),
    openmp=Part(is_available=_yes),
)
get_num_threads = get_num_interop_threads = lambda: 2
get_float32_matmul_precision = lambda: "highest"  # noqa: E731
are_deterministic_algorithms_enabled = _no
