"""A measured stand-in for a device's peak: how fast it multiplies two large square matrices.

For devices without a known peak. It is not the vendor's figure and a share of it is not MFU: it is
named "measured matmul ceiling" wherever it is shown. Runs in a rank, outside timed blocks.
"""

import time
from collections.abc import Callable

import torch

NAME = "measured matmul ceiling"
SIZE = {"cpu": 1024}  # square; large enough to fill the device, small enough for a fraction of a s
SIZE_ON_ACCELERATOR = 8192
WARM_UP, LOOKS, PRODUCTS = 2, 5, 4
TORCH_DTYPES = {
    "fp32": torch.float32,
    "tf32": torch.float32,  # the caller has set the precision flags of its training
    "bf16": torch.bfloat16,
    "fp16": torch.float16,
}


def matmul_flops_per_s(
    device: torch.device,
    dtype: str,
    *,
    size: int | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> float:
    """FLOP/s of the fastest of a few looks at products of two size x size matrices.

    `dtype` is one of peaks.DTYPES, under the precision flags in force. The fastest, because
    delays are one-sided. Raises RuntimeError (torch's) where the product is not supported.
    """
    size = size or SIZE.get(device.type, SIZE_ON_ACCELERATOR)
    left, right = (torch.randn(size, size, device=device).to(TORCH_DTYPES[dtype]) for _ in range(2))
    out = left @ right
    for _ in range(WARM_UP):
        torch.mm(left, right, out=out)
    best_s = min(_seconds(left, right, out, clock) for _ in range(LOOKS))
    return 2 * size**3 * PRODUCTS / best_s


def _seconds(
    left: torch.Tensor, right: torch.Tensor, out: torch.Tensor, clock: Callable[[], float]
) -> float:
    _synchronize(left.device)
    begin = clock()
    for _ in range(PRODUCTS):
        torch.mm(left, right, out=out)
    _synchronize(left.device)
    return clock() - begin


def _synchronize(device: torch.device) -> None:
    if device.type != "cpu":
        torch.accelerator.synchronize(device)
