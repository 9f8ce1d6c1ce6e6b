"""AdamW pulls matrices towards zero and nothing else; SGD has momentum."""

import torch
from torch import nn

from workloads.optimizers import adamw, sgd


def test_adamw_decays_matrices_only() -> None:
    layer = nn.Linear(3, 3)
    nn.init.ones_(layer.weight)
    nn.init.ones_(layer.bias)
    optimizer = adamw(layer.parameters(), lr=0.1)
    for parameter in layer.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step()
    assert torch.all(layer.weight < 1)
    assert torch.all(layer.bias == 1)


def test_adamw_takes_a_model_without_matrices() -> None:
    assert len(adamw(nn.BatchNorm1d(3).parameters(), lr=0.1).param_groups) == 1


def test_sgd_keeps_going_by_momentum() -> None:
    weight = nn.Parameter(torch.zeros(1))
    optimizer = sgd([weight], lr=1.0)
    weight.grad = torch.ones(1)
    optimizer.step()
    first = weight.item()
    weight.grad = torch.zeros(1)
    optimizer.step()
    assert weight.item() < first < 0
