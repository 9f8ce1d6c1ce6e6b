"""Which kernel computes attention: `scaled_dot_product_attention` chooses, unless told."""

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from torch.backends import cuda
from torch.nn.attention import SDPBackend, sdpa_kernel

from benchmarks.setting import Setting

BACKENDS = {
    "math": SDPBackend.MATH,
    "efficient": SDPBackend.EFFICIENT_ATTENTION,
    "flash": SDPBackend.FLASH_ATTENTION,
    "cudnn": SDPBackend.CUDNN_ATTENTION,
}
OPERATOR = "aten::_scaled_dot_product_"  # then the backend's name


def attention(setting: Setting) -> AbstractContextManager[Any]:
    """Around forward and backward, which runs forward again where layers are checkpointed."""
    if setting.attention == "default":
        return nullcontext()
    return sdpa_kernel([BACKENDS[setting.attention]])


def kernels(operators: Iterable[str]) -> list[str]:
    """Of BACKENDS, or as torch calls them, those among the operators of a step."""
    ran = {
        name.removeprefix(OPERATOR).removeprefix("attention_").removesuffix("_backward")
        for name in operators
        if name.startswith(OPERATOR)
    }
    return sorted({next((b for b in BACKENDS if kernel.startswith(b)), kernel) for kernel in ran})


def read_back(setting: Setting) -> dict[str, Any]:
    """attention_allowed: what torch may choose from within a step."""
    with attention(setting):
        allowed = {
            "math": cuda.math_sdp_enabled(),  # type: ignore[no-untyped-call]
            "efficient": cuda.mem_efficient_sdp_enabled(),  # type: ignore[no-untyped-call]
            "flash": cuda.flash_sdp_enabled(),  # type: ignore[no-untyped-call]
            "cudnn": cuda.cudnn_sdp_enabled(),  # type: ignore[no-untyped-call]
        }
    return {"attention_allowed": sorted(name for name, on in allowed.items() if on)}
