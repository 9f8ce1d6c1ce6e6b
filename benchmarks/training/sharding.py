"""Shards: of parameters, gradients and optimizer states (FSDP2), or of optimizer states (ZeRO)."""

import inspect

import torch
from torch import distributed, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.optim import Optimizer

from benchmarks.setting import Setting


def shard(module: nn.Module, device: torch.device) -> nn.Module:
    """FSDP2 over every repeated layer, then over the rest: gathered layer by layer when used."""
    from benchmarks.training.checkpointing import repeated_layers

    mesh = init_device_mesh(device.type, (distributed.get_world_size(),))
    for _, _, layer in repeated_layers(module):
        fully_shard(layer, mesh=mesh)
    fully_shard(module, mesh=mesh)
    return module


def shard_states(optimizer: Optimizer, setting: Setting) -> Optimizer:
    """Under ZeRO each rank updates its share of the parameters and broadcasts them."""
    if setting.strategy != "zero":
        return optimizer
    takes = inspect.signature(type(optimizer)).parameters
    options = {name: value for name, value in optimizer.defaults.items() if name in takes}
    return ZeroRedundancyOptimizer(optimizer.param_groups, type(optimizer), **options)
