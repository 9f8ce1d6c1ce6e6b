"""A model called piece by piece is the model itself."""

from typing import Any

import pytest
import torch
from torch import nn

from workloads import CATALOG, Scale, Workload

SEED = 3


@pytest.mark.parametrize("workload", CATALOG.values(), ids=list(CATALOG))
def test_pieces_compute_what_the_model_does(workload: Workload) -> None:
    scale = workload.scale("tiny")
    torch.manual_seed(SEED)
    model = workload.build_model(scale)
    pieces = workload.cut(model)
    assert pieces is not None
    if workload.unit == "images":
        batch = torch.randn(2, 3, scale.data["pixels"], scale.data["pixels"])
    else:
        batch = torch.randint(scale.data["vocabulary"], (2, scale.data["length"]))
    for training in (False, True):
        whole, parts = model.train(training), nn.Sequential(*pieces).train(training)
        torch.testing.assert_close(parts(batch), whole(batch), rtol=0, atol=0)
    held = {id(parameter) for piece in pieces for parameter in piece.parameters()}
    assert held == {id(parameter) for parameter in model.parameters()}
    assert len(pieces) > 4


def mine(**changed: Any) -> Workload:
    scale = Scale(batch=2, learning_rate=0.1, model={}, data={})
    parts = {"name": "mine", "unit": "points", "model": dict, "data": dict, "optimizer": dict}
    return Workload(**{**parts, "scales": {"tiny": scale}, **changed})


def test_a_row_of_modules_is_its_own_pieces() -> None:
    model = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    assert mine().cut(model) == [model[0], model[1]]


def test_of_any_other_model_the_pieces_are_unknown_unless_declared() -> None:
    model = nn.Bilinear(2, 3, 4)
    assert mine().cut(model) is None
    assert mine(pieces=lambda whole: [whole]).cut(model) == [model]
