"""Activation checkpointing (Chen et al. 2016) of a model's repeated layers."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from benchmarks.setting import Setting
from workloads import WorkloadError


class Checkpointed(nn.Module):
    """Keeps a layer's input only; backward runs the layer again for the rest."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer
        self.recomputes = True

    def forward(self, *inputs: Any) -> Tensor:
        if not self.recomputes:
            return self.layer(*inputs)  # type: ignore[no-any-return]
        return checkpoint(self.layer, *inputs, use_reentrant=False)  # type: ignore[no-any-return]


def repeated_layers(module: nn.Module) -> Iterator[tuple[nn.Module, str, nn.Module]]:
    """Container, name and layer of everything that a model stacks.

    Layers are the composite children of the outermost nn.ModuleList and nn.Sequential: the blocks
    of a transformer, those of a ResNet's stages.
    """
    for child in module.children():
        layers = [
            (child, name, layer)
            for name, layer in child.named_children()
            if isinstance(child, nn.ModuleList | nn.Sequential) and next(layer.children(), None)
        ]
        yield from layers or repeated_layers(child)


def checkpoint_layers(module: nn.Module, setting: Setting) -> None:
    """Wrap the repeated layers where the setting says so.

    Raises:
        WorkloadError: there are none.
    """
    if not setting.checkpointing:
        return
    layers = list(repeated_layers(module))
    if not layers:
        raise WorkloadError(
            "checkpointing needs repeated layers in an nn.ModuleList or nn.Sequential: "
            "this model has none"
        )
    for container, name, layer in layers:
        setattr(container, name, Checkpointed(layer))


@contextmanager
def without_recomputing(module: nn.Module) -> Iterator[None]:
    """For counting what the model itself computes."""
    wrapped = [m for m in module.modules() if isinstance(m, Checkpointed)]
    for each in wrapped:
        each.recomputes = False
    try:
        yield
    finally:
        for each in wrapped:
            each.recomputes = True
