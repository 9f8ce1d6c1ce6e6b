"""How the work is shared between ranks and devices."""

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from benchmarks.setting import Setting


def parallelise(module: nn.Module, setting: Setting, device: torch.device) -> nn.Module:
    """The module under the setting's strategy; a process group exists where it needs one."""
    if setting.parallel == "dp":
        return nn.DataParallel(module)
    if setting.strategy == "ddp":
        return DistributedDataParallel(
            module, device_ids=None if device.type == "cpu" else [device]
        )
    return module
