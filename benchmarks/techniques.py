"""Techniques: named changes of a setting, what each needs, and what proves that it took effect.

This is the one place a technique is added: it then shows in case ids, tables and skips.
A rank reads its own state back as `evidence` (see `rank.py`); the checks here decide, without
torch, whether that is what was asked for.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from benchmarks.hardware import Hardware
from benchmarks.setting import Setting

Evidence = Mapping[str, Any]
Finding = tuple[bool, str]  # did it hold, and what was seen
Need = Callable[[Hardware, Setting], str | None]
Check = Callable[[Setting, Evidence], Finding]


@dataclass(frozen=True, kw_only=True)
class Technique:
    """One named change.

    needs: why this machine cannot run it under a setting (one sentence), or None.
    checks: name of a guard -> the check that the technique really took effect.
    loss_tolerance: how far the mean of the first losses may lie from the baseline's, relative.
    first_step_s: how long its first step may take before it is given up as hopeless.
    """

    name: str
    change: Mapping[str, Any]
    why: str
    api: str
    needs: Need = field(default=lambda hardware, setting: None)
    checks: Mapping[str, Check] = field(default_factory=dict)
    loss_tolerance: float = 0.02
    first_step_s: float = 20.0

    def apply(self, setting: Setting) -> Setting:
        return replace(setting, **self.change)

    def changes(self, setting: Setting) -> bool:
        return self.apply(setting) != setting


def workers(count: int) -> Technique:
    """Loader processes decode and augment while the training process trains."""
    return Technique(
        name=f"workers{count}",
        change={"num_workers": count},
        why="loads and preprocesses the next batches while this one trains",
        api="DataLoader(num_workers=...)",
        checks={"loader_workers": _live_workers},
    )


def _live_workers(setting: Setting, evidence: Evidence) -> Finding:
    alive = evidence["loader_workers"]
    return alive == setting.num_workers, f"{alive} of {setting.num_workers} loader workers alive"


def _autocast_dtype(expected: str) -> Check:
    def check(setting: Setting, evidence: Evidence) -> Finding:
        seen = evidence["compute_dtype"]
        if seen is None:
            return True, "no linear layer or convolution to look at"
        return seen == expected, f"layers computed in {seen}"

    return check


def _few_skipped_steps(setting: Setting, evidence: Evidence) -> Finding:
    skipped, steps = evidence["scaler_skipped_steps"], evidence["steps"]
    return skipped <= max(2, steps // 10), f"GradScaler skipped {skipped} of {steps} steps"


def _bf16_units(hardware: Hardware, setting: Setting) -> str | None:
    if setting.device != "cuda":
        return None
    lacking = [gpu.name for gpu in hardware.gpus if gpu.bf16 is False]
    return f"amp_bf16 needs a GPU that computes in bf16, {lacking[0]} does not" if lacking else None


FP32 = Technique(
    name="fp32",
    change={"precision": "fp32"},
    why="IEEE single precision, the reference for losses",
    api="torch.float32",
    checks={"compute_dtype": _autocast_dtype("float32")},
)
AMP_BF16 = Technique(
    name="amp_bf16",
    change={"precision": "amp_bf16"},
    why="half the bytes and tensor-core arithmetic, with the range of fp32",
    api="torch.autocast(dtype=torch.bfloat16)",
    needs=_bf16_units,
    checks={"compute_dtype": _autocast_dtype("bfloat16")},
    loss_tolerance=0.05,
)
AMP_FP16 = Technique(
    name="amp_fp16",
    change={"precision": "amp_fp16"},
    why="half the bytes on tensor cores that lack bf16; gradients need scaling",
    api="torch.autocast(dtype=torch.float16), torch.amp.GradScaler",
    checks={
        "compute_dtype": _autocast_dtype("float16"),
        "grad_scaler": _few_skipped_steps,
    },
    loss_tolerance=0.05,
)

SINGLE = Technique(
    name="single",
    change={"parallel": "single"},
    why="one process, one device",
    api="-",
    checks={"strategy": lambda setting, evidence: _strategy(evidence, "none", 1)},
)


def _strategy(evidence: Evidence, name: str, replicas: int) -> Finding:
    seen = f"strategy {evidence['strategy']} with {evidence['replicas']} replicas"
    return (evidence["strategy"], evidence["replicas"]) == (name, replicas), seen


def _two_gpus(hardware: Hardware, setting: Setting) -> str | None:
    found = hardware.devices.get("cuda", 0)
    if found < 2:
        return f"dp needs 2 GPUs, found {found}"
    return None if setting.device == "cuda" else f"dp needs 2 GPUs, {setting.device} is none"


DP = Technique(
    name="dp",
    change={"parallel": "dp"},
    why="every GPU from one process: no launcher, but its Python and GPU 0 become the bottleneck",
    api="torch.nn.DataParallel",
    needs=_two_gpus,
    checks={
        "strategy": lambda setting, evidence: _strategy(
            evidence, "DataParallel", evidence["visible_devices"]
        )
    },
    loss_tolerance=0.25,  # sees more samples a step than the baseline, other ones
)


def ddp(ranks: int) -> Technique:
    """One process a device, gradients averaged while backward still runs."""
    return Technique(
        name=f"ddp{ranks}",
        change={"parallel": f"ddp{ranks}"},
        why="one process per device, gradients averaged while backward still runs",
        api="torch.nn.parallel.DistributedDataParallel, torchrun",
        needs=_ranks_fit,
        checks={
            "strategy": lambda setting, evidence: _strategy(
                evidence, "DistributedDataParallel", setting.world_size
            ),
            "equal_parameters": _equal_parameters,
        },
        loss_tolerance=0.25,
        first_step_s=60.0,
    )


def _ranks_fit(hardware: Hardware, setting: Setting) -> str | None:
    ranks = setting.world_size
    if setting.device == "cpu":
        cores = hardware.usable_cores
        return None if ranks <= cores else f"ddp{ranks} needs {ranks} CPU cores, found {cores}"
    if setting.device == "mps":
        return f"ddp{ranks} needs a torch.distributed backend for mps, there is none"
    found = hardware.devices.get(setting.device, 0)
    return None if ranks <= found else f"ddp{ranks} needs {ranks} GPUs, found {found}"


def _equal_parameters(setting: Setting, evidence: Evidence) -> Finding:
    spread = evidence["parameter_spread"]
    return spread == 0.0, f"largest difference of parameter sums between ranks {spread:g}"


def is_technique(name: str) -> bool:
    """Whether the suite has a technique of that name."""
    return re.fullmatch(r"workers\d+|ddp\d+|dp|amp_bf16|amp_fp16", name) is not None


def device_needs(hardware: Hardware, setting: Setting) -> str | None:
    """Why the setting's device is not to be had, or None."""
    if hardware.devices.get(setting.device, 0) > 0:
        return None
    return f"{setting.device} needs a usable {setting.device} device, found none"
