"""environment.json: everything about the machine and the software that a number depends on.

What torch knows comes from the probe child inside `Hardware`; the rest is read here, without
torch. Unknown is None, never a guess.
"""

import hashlib
import json
import math
import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from benchmarks.hardware import Gpu, Hardware
from benchmarks.telemetry.nvml import Nvml

ENVIRONMENT_SCHEMA = 1
# Variables that change how fast training runs, or which devices it sees. Others are left out:
# an environment also holds secrets.
ALLOCATOR_VARIABLES = (
    *("PYTORCH_", "MALLOC_", "LD_PRELOAD", "TCMALLOC_", "JEMALLOC_", "GLIBC_TUN", "THP_MEM_"),
)
OTHER_VARIABLES = (
    *("OMP_", "GOMP_", "KMP_", "MKL_", "OPENBLAS_", "NUMEXPR_", "DNNL_", "ONEDNN_", "ATEN_"),
    *("CUDA_", "NVIDIA_", "CUDNN_", "CUBLAS_", "NCCL_", "GLOO_", "HIP_", "HSA_", "ROCR_", "ZE_"),
    *("TORCH_", "TORCHINDUCTOR_", "TRITON_"),
)
SECRET_WORDS = ("TOKEN", "KEY", "SECRET", "PASSWORD", "CREDENTIAL")
PACKAGES = ("torchvision", "numpy", "pillow", "triton", "nvidia-ml-py", "psutil")
GIB = 1 << 30


def command_line() -> str:
    """How this process was called, to be typed again: programs by name, modules behind -m."""
    program = Path(sys.argv[0]).name
    by_module = program == "__main__.py" and "-m" in sys.orig_argv
    words = ["python", *sys.orig_argv[1:]] if by_module else [program, *sys.argv[1:]]
    return shlex.join(words)


def describe(hardware: Hardware, options: Mapping[str, Any]) -> dict[str, Any]:
    """The contents of environment.json, strict JSON: no NaN, only plain types.

    `options` are the resolved options of the run; values that JSON does not have become text.
    """
    with Nvml() as nvml:
        driver = nvml.driver_version().value if hardware.gpus else None
        gpus = [_gpu(gpu, nvml) for gpu in hardware.gpus]
    facts = dict(hardware.torch_facts)
    described = {
        "schema": ENVIRONMENT_SCHEMA,
        "machine": machine_identity(hardware),
        "command": command_line(),
        "options": dict(options),
        "git": git_revision(Path(__file__).resolve().parent),
        "python": hardware.python,
        "os": platform.platform(),
        "torch": hardware.torch,
        "cuda": facts.pop("cuda", None),
        "cudnn": facts.pop("cudnn", None),
        "nccl": facts.pop("nccl", None),
        "driver": driver,
        "packages": {name: _version(name) for name in PACKAGES},
        "devices": dict(hardware.devices),
        "accelerator": hardware.accelerator,
        "accelerator_reason": hardware.accelerator_reason,
        "gpus": gpus,
        "cpu": {
            "model": hardware.cpu_model,
            "isa": list(hardware.cpu_isa),
            "cores": os.cpu_count(),
            "affinity_cores": hardware.affinity_cores,
            "cgroup_cores": hardware.cgroup_cores,
            "usable_cores": hardware.usable_cores,
        },
        "memory_bytes": hardware.memory_bytes,
        "cgroup_memory_bytes": hardware.cgroup_memory_bytes,
        "compilers": dict(hardware.compilers),
        "torch_settings": facts,
        "allocator_variables": chosen_variables(os.environ, ALLOCATOR_VARIABLES),
        "variables": chosen_variables(os.environ, OTHER_VARIABLES),
    }
    plain: dict[str, Any] = json.loads(json.dumps(_finite(described), allow_nan=False, default=str))
    return plain


def machine_identity(hardware: Hardware) -> str:
    """A name for "the same machine" that a reboot, another address or host name does not change.

    A hash of CPU model, cores, memory and GPU UUIDs as a run sees them, so that a container with
    another share of the machine counts as another one. Memory is rounded up to whole 2 GiB: what
    the kernel keeps for itself varies from boot to boot.
    """
    parts = {
        "cpu": hardware.cpu_model,
        "cores": hardware.usable_cores,
        "memory_gib": math.ceil(hardware.memory_bytes / (2 * GIB)) * 2,
        "gpus": sorted(gpu.uuid or gpu.name for gpu in hardware.gpus),
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def git_revision(folder: Path) -> dict[str, Any]:
    """`{"revision": hash, "dirty": bool}` of the checkout around `folder`; None where unknown."""
    revision, changes = _git(folder, "rev-parse", "HEAD"), _git(folder, "status", "--porcelain")
    if revision is None:
        return {"revision": None, "dirty": None}
    return {"revision": revision, "dirty": None if changes is None else bool(changes)}


def chosen_variables(environ: Mapping[str, str], beginnings: Sequence[str]) -> dict[str, str]:
    """Variables whose names begin so, sorted, without any that may hold a secret."""
    return {
        name: environ[name]
        for name in sorted(environ)
        if name.startswith(tuple(beginnings)) and not any(word in name for word in SECRET_WORDS)
    }


def _gpu(gpu: Gpu, nvml: Nvml) -> dict[str, Any]:
    cap_w = nvml.gpu(gpu.uuid).power_cap_w() if gpu.uuid and gpu.device == "cuda" else None
    return {
        "device": f"{gpu.device}:{gpu.index}",
        "name": gpu.name,
        "uuid": gpu.uuid,
        "capability": None if gpu.capability is None else ".".join(map(str, gpu.capability)),
        "memory_bytes": gpu.memory_bytes,
        "bf16": gpu.bf16,
        "power_cap_w": None if cap_w is None else cap_w.value,
    }


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "--no-optional-locks", *arguments],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=30,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):  # no git, or not a checkout
        return None
    return done.stdout.strip()


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {str(key): _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return value
