"""In which numbers a training computes."""

from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.setting import SCALED_PRECISIONS, Setting

AUTOCAST = {"amp_bf16": torch.bfloat16, "amp_fp16": torch.float16}
WEIGHTS = {"bf16": torch.bfloat16}


def choose_fp32(precision: str) -> None:
    """How fp32 is multiplied and convolved: IEEE, or rounded to TF32 on NVIDIA's tensor cores.

    Torch's default is IEEE for the one and TF32 for the other.
    """
    exactness = "tf32" if precision == "tf32" else "ieee"
    torch.backends.cuda.matmul.fp32_precision = exactness
    torch.backends.cudnn.fp32_precision = exactness
    torch.backends.cudnn.conv.fp32_precision = exactness  # type: ignore[attr-defined]
    torch.backends.cudnn.rnn.fp32_precision = exactness  # type: ignore[attr-defined]
    # Inductor asks the older flags too, and asking is an error where the two disagree.
    torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
    torch.backends.cudnn.allow_tf32 = precision == "tf32"


def cast_weights(module: nn.Module, setting: Setting) -> nn.Module:
    """Pure low precision: parameters, and with them gradients and the optimizer's state."""
    return module.to(WEIGHTS.get(setting.precision))


def cast_inputs(inputs: Tensor, setting: Setting) -> Tensor:
    """Numbers as the weights are; indices of tokens stay what they are."""
    return inputs.to(WEIGHTS.get(setting.precision)) if inputs.is_floating_point() else inputs


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


def read_back(module: nn.Module) -> dict[str, Any]:
    """The flags that decide what fp32 means, and the dtypes of the weights."""
    dtypes = {p.dtype for p in module.parameters() if p.is_floating_point()}
    return {
        "fp32_matmul": torch.backends.cuda.matmul.fp32_precision,
        "fp32_conv": torch.backends.cudnn.conv.fp32_precision,  # type: ignore[attr-defined]
        "weight_dtypes": sorted(str(dtype).removeprefix("torch.") for dtype in dtypes),
    }
