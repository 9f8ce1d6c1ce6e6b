"""torch.compile, and what it made of the model."""

import sys
from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from benchmarks.setting import Setting

REASONS = 3  # of graph breaks, kept as evidence


def compile_model(model: nn.Module, setting: Setting) -> nn.Module:
    """The model, compiled when it is first called; `model` itself stays what it was.

    Dynamo falls back to plain Python in two cases, which would go unnoticed: here both are errors.
    """
    if setting.compile == "none":
        return model
    import torch._dynamo  # seconds, which only those who compile shall pay

    torch._dynamo.config.suppress_errors = False
    torch._dynamo.config.fail_on_recompile_limit_hit = True
    compiled: Any = torch.compile(model, mode=setting.compile)
    assert isinstance(compiled, nn.Module)
    return compiled


def uncompiled(model: nn.Module) -> nn.Module:
    """What was compiled, or the model itself."""
    inside: nn.Module = getattr(model, "_orig_mod", model)
    return inside


def compiled_part(model: nn.Module) -> Any:
    """The compiled module in a wrapper of any kind, or None."""
    return next((m for m in model.modules() if uncompiled(m) is not m), None)


def calls(operators: Sequence[str]) -> int:
    """How many compiled functions a step called, forward and backward."""
    return sum(name in ("CompiledFunction", "CompiledFunctionBackward") for name in operators)


def read_back(model: nn.Module) -> dict[str, Any]:
    """compiled: the mode, "none" for plain Python. graph_breaks: each leaves compiled code for it.

    cuda_graphs: recorded; None without CUDA. cuda_graph_skips: what could not be recorded.
    """
    part = compiled_part(model)
    if part is None:
        return {"compiled": "none", "compiled_frames": _counted("frames").get("ok", 0)}
    breaks = _counted("graph_break")
    config = part.get_compiler_config() or {}
    return {
        "compiled": _mode(config),
        "compiled_frames": _counted("frames").get("ok", 0),
        "graphs": _counted("stats").get("unique_graphs", 0),
        "graph_breaks": sum(breaks.values()),
        "graph_break_reasons": [reason.splitlines()[0] for reason in list(breaks)[:REASONS]],
        "cuda_graphs": _cuda_graphs(),
        "cuda_graph_skips": _counted("inductor").get("cudagraph_skips", 0),
    }


def _mode(config: Any) -> str:
    """Back from what the mode turned on in Inductor's configuration."""
    if config.get("max_autotune"):
        return "max-autotune"
    return "reduce-overhead" if config.get("triton.cudagraphs") else "default"


def _counted(what: str) -> dict[str, int]:
    """Dynamo's own counters, without importing it."""
    dynamo = sys.modules.get("torch._dynamo.utils")
    return dict(dynamo.counters[what]) if dynamo else {}


def _cuda_graphs() -> int | None:
    if not torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        return None
    from torch._inductor.cudagraph_trees import get_manager

    manager = get_manager(create_if_none_exists=False)
    return 0 if manager is None else sum(map(len, manager.roots.values()))
