"""How many floating-point operations a training step takes: counted in a rank, in no timed block.

A multiplication and an addition count two. Only matrix products, convolutions and attention are
counted, as everywhere in the literature: the rest is below a percent.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import (
    FlopCounterMode,
    flop_registry,
    sdpa_backward_flop_count,
    sdpa_flop_count,
)

# Parts of the names of operators whose cost is too large to leave out unnoticed.
HEAVY = ("mm", "conv", "linear", "attention", "lstm", "gru", "rnn")
# Attention on the CPU is the same arithmetic under another name, which torch does not count.
CPU_ATTENTION = "_scaled_dot_product_flash_attention_for_cpu"


@dataclass(frozen=True)
class Flops:
    """FLOPs of one forward and backward pass, or None and the reason."""

    per_step: float | None
    reason: str | None = None


def count(
    module: nn.Module,
    loss: Callable[[Any, Any], Tensor],
    autocast: Callable[[], AbstractContextManager[Any]],
    inputs: Any,
    targets: Any,
) -> Flops:
    """FLOPs of one step on this batch, forward and backward, by running one.

    Pass the bare module: not compiled (its operators would be fused out of sight), not wrapped (a
    collective would wait for the other ranks), and without checkpointing, whose recomputation is
    not the model's. Batch, module and loss are on one device. Leaves parameters, buffers and the
    random state as they were, and no gradients. Never raises: what goes wrong is the reason.
    """
    kept = [buffer.detach().clone() for buffer in module.buffers()]
    devices = [inputs.device] if isinstance(inputs, Tensor) and inputs.device.type != "cpu" else []
    kind = devices[0].type if devices else "cuda"  # the CPU's state is kept in either case
    seen = _Uncounted()
    counter = FlopCounterMode(display=False, custom_mapping=_cpu_attention())
    try:
        with torch.random.fork_rng(devices, device_type=kind), counter, seen:
            with autocast():
                result = loss(module(inputs), targets)
            result.backward()  # type: ignore[no-untyped-call]
    except Exception as error:  # out of memory, an operator without a formula: all mean "unknown"
        lines = str(error).splitlines() or [""]
        return Flops(None, f"counting FLOPs failed: {type(error).__name__}: {lines[0]}")
    finally:
        module.zero_grad(set_to_none=True)
        with torch.no_grad():
            for buffer, before in zip(module.buffers(), kept, strict=True):
                buffer.copy_(before)
    total = counter.get_total_flops()
    if seen.names:
        return Flops(None, f"torch does not count {', '.join(sorted(seen.names))}")
    if not total:
        return Flops(None, "no matrix product, convolution or attention was seen")
    return Flops(float(total))


class _Uncounted(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Notes heavy operators that no formula covers: a sum without them would be too low."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.names: set[str] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        packet = func.overloadpacket
        name = packet.__name__
        known = packet in flop_registry or name.startswith(CPU_ATTENTION)
        if not known and any(part in name for part in HEAVY):
            self.names.add(str(packet))
        return func(*args, **(kwargs or {}))


def _cpu_attention() -> dict[Any, Any]:
    """Formulas for it, from the shapes: torch's own for the other backends."""

    def forward(query: Any, key: Any, value: Any, *args: Any, **kwargs: Any) -> int:
        return int(sdpa_flop_count(query, key, value))  # type: ignore[no-untyped-call]

    def backward(grad: Any, query: Any, key: Any, value: Any, *args: Any, **kwargs: Any) -> int:
        return int(sdpa_backward_flop_count(grad, query, key, value))  # type: ignore[no-untyped-call]

    aten = torch.ops.aten
    return {
        aten._scaled_dot_product_flash_attention_for_cpu: forward,
        aten._scaled_dot_product_flash_attention_for_cpu_backward: backward,
    }
