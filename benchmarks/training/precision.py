"""In which numbers a training computes."""

from functools import partial

import torch

from benchmarks.setting import SCALED_PRECISIONS, Setting

AUTOCAST = {"amp_bf16": torch.bfloat16, "amp_fp16": torch.float16}


def use_ieee_fp32() -> None:
    """fp32 means IEEE fp32: torch's default rounds convolutions to TF32 on NVIDIA GPUs."""
    torch.backends.cuda.matmul.fp32_precision = "ieee"
    torch.backends.cudnn.fp32_precision = "ieee"
    torch.backends.cudnn.conv.fp32_precision = "ieee"  # type: ignore[attr-defined]


def autocast(setting: Setting, device: torch.device) -> partial[torch.autocast]:
    """Called for the context of each forward pass; does nothing for a precision without one."""
    return partial(
        torch.autocast,
        device.type,
        dtype=AUTOCAST.get(setting.precision),
        enabled=setting.precision in AUTOCAST,
    )


def grad_scaler(setting: Setting, device: torch.device) -> torch.amp.GradScaler:
    return torch.amp.GradScaler(device.type, enabled=setting.precision in SCALED_PRECISIONS)
