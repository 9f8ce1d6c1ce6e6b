"""How images lie in memory: each channel a plane (contiguous), or each pixel whole (channels last).

Layers pass on the layout that they are given, so it is set on weights and inputs only.
"""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.setting import Setting

IMAGE_DIMENSIONS = 4  # batch, channels, height, width


def lay_out_weights(module: nn.Module, setting: Setting) -> nn.Module:
    if setting.memory_format == "channels_last":
        return module.to(memory_format=torch.channels_last)
    return module


def lay_out_inputs(inputs: Tensor, setting: Setting) -> Tensor:
    if setting.memory_format == "channels_last" and inputs.ndim == IMAGE_DIMENSIONS:
        return inputs.to(memory_format=torch.channels_last)
    return inputs


def layouts(tensors: Iterable[Tensor]) -> list[str]:
    """Those that the strides of `tensors` show; a 1x1 kernel or a vector shows none."""
    return sorted(set(map(_layout, tensors)) - {""})


def _layout(tensor: Tensor) -> str:
    if tensor.ndim != IMAGE_DIMENSIONS:
        return ""
    planes = tensor.is_contiguous()
    pixels = tensor.is_contiguous(memory_format=torch.channels_last)
    if planes and pixels:
        return ""
    return "contiguous" if planes else "channels_last" if pixels else "strided"


def read_back(module: nn.Module) -> dict[str, Any]:
    return {"weight_layouts": layouts(module.parameters())}
