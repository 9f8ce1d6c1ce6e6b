"""What is true of a training: read back from torch, never assumed from what was asked for."""

import multiprocessing
from typing import Any

import torch

from benchmarks.hardware import driver_uuid
from benchmarks.training import (
    Training,
    attention,
    compiling,
    layout,
    optimizers,
    precision,
    preprocessing,
    process,
    shared,
    transfer,
)
from benchmarks.training.rates import relative_rate


def read_back(training: Training) -> dict[str, Any]:
    """What is true of a training, as evidence for the guards. A collective call."""
    return {
        "device": str(training.device),
        "visible_devices": torch.accelerator.device_count() if training.on_accelerator else 0,
        "world_size": torch.distributed.get_world_size() if training.place.world > 1 else 1,
        "loader_workers": len(multiprocessing.active_children()),
        "threads": torch.get_num_threads(),
        "scaler_skipped_steps": skipped_steps(training.scaler),
        "steps": training.steps,
        "losses": training.losses(),
        **peak_memory(training),
        "learning_rate": relative_rate(training.optimizer, training.scale),
        **process.read_back(training.device),
        **transfer.read_back(training),
        **preprocessing.read_back(training),
        **shared.read_back(training),
        **precision.read_back(training.module),
        **layout.read_back(training.module),
        **attention.read_back(training.setting),
        **compiling.read_back(training.model),
        **optimizers.read_back(training.optimizer),
    }


def skipped_steps(scaler: torch.amp.GradScaler) -> int:
    """Steps left out because gradients overflowed: each halves the scale.

    Right while the scale has not grown, which takes 2,000 steps without an overflow.
    """
    if not scaler.is_enabled():
        return 0
    scale, halvings = 65536.0, 0  # GradScaler's initial scale
    while scale > scaler.get_scale():
        scale, halvings = scale * scaler.get_backoff_factor(), halvings + 1
    return halvings


def peak_memory(training: Training) -> dict[str, int | None]:
    """Peak allocated and reserved bytes of the fullest device; None where torch cannot tell."""
    if not training.on_accelerator:
        return {"peak_memory_bytes": None, "peak_reserved_bytes": None}
    devices = training.devices
    peaks = torch.tensor(
        [
            max(torch.accelerator.max_memory_allocated(device) for device in devices),
            max(torch.accelerator.max_memory_reserved(device) for device in devices),
        ]
    )
    if training.place.world > 1:
        torch.distributed.all_reduce(peaks, torch.distributed.ReduceOp.MAX)
    allocated, reserved = peaks.tolist()
    return {"peak_memory_bytes": int(allocated), "peak_reserved_bytes": int(reserved)}


def gpu_uuids(training: Training) -> list[str]:
    """NVML names of the GPUs this rank uses; empty where there are none."""
    if training.device.type != "cuda":
        return []
    properties = map(torch.cuda.get_device_properties, training.devices)
    return [driver_uuid(str(gpu.uuid), gpu.name) for gpu in properties]
