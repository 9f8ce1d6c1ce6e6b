"""What this machine has: a quick look without torch, and the truth from a child that has torch.

`glance()` is for pytest's collection: milliseconds, no torch, no CUDA context, candidates only.
`probe_in_child()` decides what can run: a process of its own imports torch, asks every device,
tries the accelerator with a real operation, prints one line of JSON (`python -m
benchmarks.hardware`) and ends, so whatever it touched ends with it.
"""

import importlib.util
import json
import os
import platform
import shutil
import sys
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from benchmarks.children import ChildError, ask
from benchmarks.telemetry import cpu, nvml
from benchmarks.telemetry.visible import VARIABLE, count_visible

PROBE_TIMEOUT_S = 180.0  # importing torch from a cold network disk takes a minute and more
DEVICE_TYPES = ("cpu", "cuda", "mps", "xpu")


class HardwareError(RuntimeError):
    """The machine could not be asked; the message is one line that says why."""


@dataclass(frozen=True, kw_only=True)
class Gpu:
    """One accelerator as torch sees it; `index` is torch's, `uuid` maps it to the driver's."""

    device: str  # "cuda" (ROCm builds call themselves so as well) or "xpu"
    index: int
    name: str
    uuid: str | None  # "GPU-..." or "MIG-...", as the driver spells it
    capability: tuple[int, int] | None
    memory_bytes: int | None
    bf16: bool | None  # in hardware, not emulated; None: unknown


@dataclass(frozen=True, kw_only=True)
class Hardware:
    """What techniques need to know to say whether they can run here.

    `torch_facts` holds versions and flags for environment.json and decides nothing.
    """

    torch: str
    python: str
    devices: Mapping[str, int]  # every key of DEVICE_TYPES, 0 where there is none
    gpus: tuple[Gpu, ...]
    accelerator: str | None  # the device type that passed a real operation, None: CPU only
    accelerator_reason: str | None  # one sentence, why there is none
    usable_cores: int
    affinity_cores: int
    cgroup_cores: float | None
    cpu_model: str | None
    cpu_isa: tuple[str, ...]
    memory_bytes: int
    cgroup_memory_bytes: int | None
    compilers: Mapping[str, str]  # those found: {"g++": path, "triton": version}
    torch_facts: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> str:
        """One line of strict JSON."""
        return json.dumps(asdict(self), allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The inverse of `to_json`; raises HardwareError on anything else."""
        try:
            fields = json.loads(text)
            gpus = tuple(
                Gpu(**{**gpu, "capability": gpu["capability"] and tuple(gpu["capability"])})
                for gpu in fields.pop("gpus")
            )
            return cls(**{**fields, "gpus": gpus, "cpu_isa": tuple(fields["cpu_isa"])})
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise HardwareError(f"not a hardware description ({error}): {text[:80]!r}") from None


@dataclass(frozen=True, kw_only=True)
class Glance:
    """What can be known in milliseconds and without torch; the probe has the last word."""

    usable_cores: int
    devices: Mapping[str, int]  # candidates; every key of DEVICE_TYPES
    reasons: Mapping[str, str]  # why a device type has no candidate, one sentence each


def glance() -> Glance:
    """Candidate devices and usable cores, for pytest's collection; raises nothing.

    CUDA devices are counted through the driver's management library, which makes no context.
    XPU is not guessed: an Intel render node says neither that the GPU is one torch supports nor
    that this torch was built for it, so only the probe tells.
    """
    cuda, cuda_reason = _count_cuda()
    mps = int(platform.system() == "Darwin" and platform.machine() == "arm64")
    reasons = {"xpu": "not looked for without torch"}
    if cuda_reason:
        reasons["cuda"] = cuda_reason
    if not mps:
        reasons["mps"] = "needs macOS on Apple silicon"
    return Glance(
        usable_cores=cpu.usable_cores(cpu.affinity_cores(), cpu.cgroup_quota_cores()),
        devices={"cpu": 1, "cuda": cuda, "mps": mps, "xpu": 0},
        reasons=reasons,
    )


def _count_cuda() -> tuple[int, str | None]:
    listed = nvml.list_uuids()
    if listed.value is None:
        return 0, listed.reason
    setting = os.environ.get(VARIABLE)
    count = count_visible(setting, listed.value.gpus, listed.value.migs)
    if count == 0 and setting is not None:
        return 0, f"{VARIABLE}={setting!r} hides every GPU"
    return count, None if count else "the driver lists no GPU"


def probe_in_child(python: str = sys.executable, timeout_s: float = PROBE_TIMEOUT_S) -> Hardware:
    """Ask `python`'s torch what this machine has, in a process of its own.

    Raises HardwareError with the child's last line when it fails, or says nothing in time.
    """
    try:
        return Hardware.from_json(ask(python, "benchmarks.hardware", timeout_s))
    except ChildError as error:
        raise HardwareError(f"asking torch about this machine {error}") from None


def probe() -> Hardware:
    """What this process's torch finds. Imports torch and may touch the accelerator: child only."""
    import torch

    # Drivers that do not fit say so in a warning and then count zero devices: keep what they say.
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        devices = _count_devices(torch)
        accelerator, reason = _try_accelerator(torch, devices)
        gpus = tuple(
            _describe_gpu(torch, kind, index)
            for kind in ("cuda", "xpu")
            for index in range(devices[kind])
        )
    if accelerator is None and not reason:
        reason = _why_none(torch, [str(warning.message) for warning in said])
    affinity, quota = cpu.affinity_cores(), cpu.cgroup_quota_cores()
    return Hardware(
        torch=torch.__version__,
        python=platform.python_version(),
        devices=devices,
        gpus=gpus,
        accelerator=accelerator,
        accelerator_reason=reason,
        usable_cores=cpu.usable_cores(affinity, quota),
        affinity_cores=affinity,
        cgroup_cores=quota,
        cpu_model=cpu.model_name(),
        cpu_isa=cpu.isa_flags(),
        memory_bytes=cpu.memory_bytes(),
        cgroup_memory_bytes=cpu.cgroup_memory_bytes(),
        compilers=_compilers(),
        torch_facts=_torch_facts(torch),
    )


def _count_devices(torch: Any) -> dict[str, int]:
    counts = dict.fromkeys(DEVICE_TYPES, 0) | {"cpu": 1}
    for kind in ("cuda", "xpu"):
        module = getattr(torch, kind)
        counts[kind] = module.device_count() if module.is_available() else 0
    counts["mps"] = int(torch.backends.mps.is_available())
    if torch.accelerator.is_available():  # a type of a vendor's own, in an out-of-tree backend
        kind = torch.accelerator.current_accelerator().type
        counts.setdefault(kind, torch.accelerator.device_count())
    return counts


def _try_accelerator(torch: Any, devices: Mapping[str, int]) -> tuple[str | None, str | None]:
    """The accelerator's type if one addition works on it, else None and torch's own words."""
    if not torch.accelerator.is_available():
        return None, None
    kind = torch.accelerator.current_accelerator().type
    if not devices.get(kind):
        return None, None
    try:
        total = float((torch.ones(2, device=kind) + 1).sum())
    except Exception as error:  # any failure is an answer here: it becomes the sentence
        return None, f"torch sees a {kind} device but cannot use it: {_first_line(str(error))}"
    if total != 4:
        return None, f"the {kind} device computes (1 + 1) x 2 = {total}"
    return kind, None


def _why_none(torch: Any, said: list[str]) -> str:
    about_devices = [line for line in said if "driver" in line.lower() or "CUDA" in line]
    if about_devices:
        return _first_line(about_devices[0])
    build = torch.version.cuda or torch.version.hip
    if build is None and platform.system() != "Darwin":
        return f"this PyTorch ({torch.__version__}) is built for the CPU only"
    listed = nvml.list_uuids()
    if listed.value is None:
        return f"no GPU found: {listed.reason}"
    setting = os.environ.get(VARIABLE)
    if setting is not None and not count_visible(setting, listed.value.gpus, listed.value.migs):
        return f"{VARIABLE}={setting!r} hides every GPU"
    return (
        f"the driver lists {len(listed.value.gpus)} GPUs, but torch {torch.__version__} uses none"
    )


def _describe_gpu(torch: Any, kind: str, index: int) -> Gpu:
    module = torch.get_device_module(kind)
    properties = module.get_device_properties(index)
    name = str(properties.name)
    uuid = getattr(properties, "uuid", None)
    major, minor = getattr(properties, "major", None), getattr(properties, "minor", None)
    return Gpu(
        device=kind,
        index=index,
        name=name,
        uuid=None if uuid is None else driver_uuid(str(uuid), name),
        capability=None if major is None or minor is None else (int(major), int(minor)),
        memory_bytes=int(properties.total_memory) if hasattr(properties, "total_memory") else None,
        bf16=_has_bf16(module, kind, index),
    )


def driver_uuid(uuid: str, name: str) -> str:
    """A UUID as the driver spells it: torch drops the kind of device that stands in front."""
    if uuid.startswith(("GPU-", "MIG-")):
        return uuid
    return ("MIG-" if " MIG " in name else "GPU-") + uuid


def _has_bf16(module: Any, kind: str, index: int) -> bool | None:
    try:
        with module.device(index):
            if kind == "cuda":
                return bool(module.is_bf16_supported(including_emulation=False))
            return bool(module.is_bf16_supported())
    except Exception:  # an older or foreign backend: unknown, which is not False
        return None


def _compilers() -> dict[str, str]:
    found = {name: path for name in ("g++", "clang++", "cl") if (path := shutil.which(name))}
    if importlib.util.find_spec("triton") is not None:
        try:
            import triton  # type: ignore[import-untyped]

            found["triton"] = str(triton.__version__)
        except Exception:  # installed but broken: torch.compile could not use it either
            pass
    return found


def _torch_facts(torch: Any) -> dict[str, Any]:
    """Versions and flags that can change a measurement; None where this build has none."""
    cudnn = torch.backends.cudnn
    cuda_seen = torch.cuda.is_available()
    nccl = (
        torch.cuda.nccl.version() if cuda_seen and torch.distributed.is_nccl_available() else None
    )
    return {
        "cuda": torch.version.cuda,
        "hip": torch.version.hip,
        "git": torch.version.git_version,
        "cudnn": cudnn.version() if cudnn.is_available() else None,
        "nccl": None if nccl is None else ".".join(str(part) for part in nccl),
        "arch_list": torch.cuda.get_arch_list() if cuda_seen else [],
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "mkl": torch.backends.mkl.is_available(),
        "mkldnn": torch.backends.mkldnn.is_available(),
        "openmp": torch.backends.openmp.is_available(),
        "num_threads": torch.get_num_threads(),
        "num_interop_threads": torch.get_num_interop_threads(),
        "float32_matmul_precision": torch.get_float32_matmul_precision(),
        "tf32_matmul": torch.backends.cuda.matmul.allow_tf32,
        "tf32_cudnn": cudnn.allow_tf32,
        "cudnn_enabled": cudnn.enabled,
        "cudnn_benchmark": cudnn.benchmark,
        "cudnn_deterministic": cudnn.deterministic,
        "deterministic_algorithms": torch.are_deterministic_algorithms_enabled(),
    }


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), text)


if __name__ == "__main__":
    print(probe().to_json())
