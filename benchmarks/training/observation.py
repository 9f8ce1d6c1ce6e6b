"""What a step really runs: seen by torch's own execution trace and by hooks, once, untimed.

Flags say what was asked for; operators, dtypes and strides say what came of it.
"""

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.profiler import ExecutionTraceObserver

from benchmarks.training import attention, compiling, optimizers
from benchmarks.training.layout import layouts
from benchmarks.training.training import Training

A_FEW = 2  # samples: enough to see dtypes and strides, and little memory


@dataclass
class Outputs:
    """Of linear layers (their first) and convolutions (all)."""

    dtypes: list[str] = field(default_factory=list)
    layouts: set[str] = field(default_factory=set)


def observe(training: Training) -> dict[str, Any]:
    """One more step, watched. A collective call, for when nothing is timed any more.

    compute_dtype, activation_layouts: of layers' outputs. input_layouts: of the batch as the model
    gets it. gradients_cleared: what zero_grad left. attention_kernels, optimizer_ran,
    compiled_calls: from the operators of the step.
    """
    inputs, targets = training.to_device(next(training.batches))
    cleared: list[str] = []

    def mark(part: str) -> None:
        if part == "forward" and not cleared:
            cleared.append(gradients(training.module))

    with watched_layers(training.module) as outputs, traced() as operators:
        training.train_on(inputs, targets, mark)
    if training.setting.compile != "none":  # compiled code calls no hooks of the layers inside
        with watched_layers(training.module) as outputs:
            run_plainly(training, inputs)
    return {
        "compute_dtype": outputs.dtypes[-1] if outputs.dtypes else None,
        "activation_layouts": sorted(outputs.layouts),
        "input_layouts": layouts([inputs]),
        "gradients_cleared": cleared[0] if cleared else None,
        "attention_kernels": attention.kernels(operators),
        "optimizer_ran": optimizers.ran(operators),
        "compiled_calls": compiling.calls(operators),
    }


@contextmanager
def watched_layers(module: nn.Module) -> Iterator[Outputs]:
    seen = Outputs()

    def dtype_of(_: nn.Module, __: Any, output: Tensor) -> None:
        seen.dtypes.append(str(output.dtype).removeprefix("torch."))

    def layout_of(_: nn.Module, __: Any, output: Tensor) -> None:
        seen.layouts |= set(layouts([output]))

    layers = [m for m in module.modules() if isinstance(m, nn.Linear | nn.Conv2d)]
    handles = [layer.register_forward_hook(dtype_of) for layer in layers[:1]]
    handles += [
        layer.register_forward_hook(layout_of) for layer in layers if isinstance(layer, nn.Conv2d)
    ]
    try:
        yield seen
    finally:
        for handle in handles:
            handle.remove()


@contextmanager
def traced() -> Iterator[list[str]]:
    """The names of all operators called inside, by any thread, once it is left."""
    names: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "trace.json"
        observer = ExecutionTraceObserver().register_callback(str(trace))
        observer.start()
        try:
            yield names
        finally:
            observer.stop()
            observer.unregister_callback()
        names += [node["name"] for node in json.loads(trace.read_text())["nodes"]]


def gradients(module: nn.Module) -> str:
    """What is left of the last step's gradients: none, zero, or some."""
    left = [p.grad for p in module.parameters() if p.grad is not None]
    if not left:
        return "none"
    return "some" if any(bool(gradient.any()) for gradient in left) else "zero"


def run_plainly(training: Training, inputs: Tensor) -> None:
    """The model without its compiler on a few samples, forward only, in the training's contexts."""
    with torch.no_grad(), training.autocast(), attention.attention(training.setting):
        training.module(inputs[:A_FEW])
