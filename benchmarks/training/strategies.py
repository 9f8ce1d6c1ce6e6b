"""How the work is shared between ranks and devices."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

import workloads
from benchmarks.setting import SCALED_PRECISIONS, Setting
from benchmarks.training.pipeline import Pipeline
from benchmarks.training.place import Place, devices_of
from benchmarks.training.sharding import shard
from benchmarks.training.stages import OnDevices, Stage, known, own_stage
from benchmarks.training.unsuited import UnsuitedError


def put(
    workload: workloads.Workload,
    module: nn.Module,
    setting: Setting,
    place: Place,
    device: torch.device,
) -> nn.Module:
    """The model where it is trained: of a pipeline its own stage alone, else all of it.

    Raises:
        UnsuitedError: the model must be cut, and the workload does not say where; or another knob
            does not go with cutting it.
    """
    if reason := apart(setting):
        raise UnsuitedError(f"{setting.parallel} {reason}")
    if setting.strategy == "pp":
        return own_stage(known(workload.cut(module), setting.parallel), place).to(device)
    if setting.parallel == "mp":
        pieces = known(workload.cut(module), setting.parallel)
        return OnDevices(pieces, devices_of(setting, device))
    return module.to(device)


def apart(setting: Setting) -> str | None:
    """Why the strategy does not go with the setting's other knobs, or None."""
    cut = setting.strategy in ("pp", "mp")
    if setting.compile != "none" and (cut or setting.strategy == "fsdp"):
        return "would have to compile each layer by itself, which is not offered"
    if setting.strategy == "pp" and setting.precision in SCALED_PRECISIONS:
        return "has no GradScaler over its stages: use amp_bf16"
    if cut and setting.checkpointing:
        return "with checkpointing is not offered"
    return None


def loss_of(workload: workloads.Workload, setting: Setting) -> Callable[[Any, Any], Tensor]:
    """The workload's loss, where the model's outputs are."""
    loss = workload.build_loss()
    if setting.parallel != "mp":
        return loss
    return lambda outputs, targets: loss(outputs, targets.to(outputs.device))


def parallelise(module: nn.Module, setting: Setting, device: torch.device) -> nn.Module:
    """The module under the setting's strategy; a process group exists where it needs one."""
    if setting.parallel == "dp":
        return nn.DataParallel(module)
    if setting.strategy in ("ddp", "zero"):
        return DistributedDataParallel(
            module,
            device_ids=None if device.type == "cpu" else [device],
            bucket_cap_mb=setting.bucket_mb or None,
            static_graph=setting.static_graph,
            gradient_as_bucket_view=setting.bucket_view,
        )
    if setting.strategy == "fsdp":
        return shard(module, device)
    if isinstance(module, Stage):
        return Pipeline(module, device, setting.accumulate)
    return module
