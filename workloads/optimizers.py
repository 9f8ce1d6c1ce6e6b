"""The optimizers of the catalog, with the hyper-parameters that their models are published with."""

from collections.abc import Iterable
from typing import Any

from torch import nn
from torch.optim import SGD, AdamW


def sgd(parameters: Iterable[nn.Parameter], *, lr: float, **implementation: Any) -> SGD:
    """SGD with momentum, as ResNets are trained (He et al. 2016)."""
    return SGD(parameters, lr=lr, momentum=0.9, weight_decay=1e-4, **implementation)


def adamw(parameters: Iterable[nn.Parameter], *, lr: float, **implementation: Any) -> AdamW:
    """AdamW that decays matrices only: biases and norms would be pulled from where they belong."""
    everything = list(parameters)
    groups = [
        {"params": [p for p in everything if p.ndim >= 2], "weight_decay": 0.01},
        {"params": [p for p in everything if p.ndim < 2], "weight_decay": 0.0},
    ]
    return AdamW([g for g in groups if g["params"]], lr=lr, betas=(0.9, 0.999), **implementation)
