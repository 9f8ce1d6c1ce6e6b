"""One loss serves a class per sample and a token per place."""

import math

import pytest
import torch

from workloads.losses import cross_entropy


@pytest.mark.parametrize("shape", [(6,), (2, 3)])
def test_undecided_logits_cost_the_log_of_the_classes(shape: tuple[int, ...]) -> None:
    loss = cross_entropy(torch.zeros(*shape, 10), torch.zeros(shape, dtype=torch.int64))
    assert loss.item() == pytest.approx(math.log(10))


def test_every_place_counts_the_same() -> None:
    logits = torch.zeros(1, 2, 3)
    logits[0, 0, 1] = 100.0  # right and sure there, undecided in the other place
    loss = cross_entropy(logits, torch.tensor([[1, 2]]))
    assert loss.item() == pytest.approx(math.log(3) / 2)
