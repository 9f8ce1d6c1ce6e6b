"""FLOPs against counts made by hand; a ceiling against a clock that is known."""

from functools import cache
from typing import Any

import pytest

from tests.benchmarks.in_child import answer_of

CODE = """
from contextlib import nullcontext
import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention
from benchmarks.ranks import ceiling
from benchmarks.ranks.flops import count

m, k, n = 8, 32, 16
def sum_loss(output, target): return output.sum()
def counted(module, inputs, autocast=nullcontext):
    found = count(module, sum_loss, autocast, inputs, None)
    return [found.per_step, found.reason]

class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(()))
    def forward(self, x):
        x = x * self.scale
        return scaled_dot_product_attention(x, x, x)

class Broken(nn.Module):
    def forward(self, x): raise RuntimeError("no such shape\\nand more")

answer = {}
first = torch.randn(m, k)
answer["linear"] = counted(nn.Linear(k, n, bias=False), first)
answer["input_with_gradient"] = counted(nn.Linear(k, n, bias=False), first.clone().requires_grad_())
answer["two_linear"] = counted(nn.Sequential(nn.Linear(k, n), nn.Linear(n, k)), first)
answer["bf16"] = counted(
    nn.Linear(k, n, bias=False), first, lambda: torch.autocast("cpu", dtype=torch.bfloat16))
answer["convolution"] = counted(nn.Conv2d(3, 5, 3, padding=1, bias=False), torch.randn(2, 3, 8, 8))
answer["attention"] = counted(Attention(), torch.randn(2, 4, 16, 8))
answer["lstm"] = counted(nn.Sequential(nn.LSTM(k, n), nn.Identity()), torch.randn(3, m, k))
answer["nothing"] = counted(nn.Sequential(nn.ReLU(), nn.LayerNorm(k)), first)
answer["broken"] = counted(Broken(), first)

net = nn.Sequential(nn.Linear(k, n), nn.BatchNorm1d(n), nn.Dropout(0.5))
torch.manual_seed(5)
expected = torch.rand(3).tolist()
before = {name: value.clone() for name, value in net.state_dict().items()}
torch.manual_seed(5)
counted(net, first)
answer["same_state"] = all(torch.equal(value, before[name])
                           for name, value in net.state_dict().items())
answer["same_random"] = torch.rand(3).tolist() == expected
answer["gradients"] = [parameter.grad is not None for parameter in net.parameters()]

ticks = iter(range(100))
answer["ceiling"] = ceiling.matmul_flops_per_s(
    torch.device("cpu"), "fp32", size=64, clock=lambda: float(next(ticks)))
answer["real_ceiling"] = ceiling.matmul_flops_per_s(torch.device("cpu"), "fp32", size=128)
"""
LINEAR = 2 * 8 * 32 * 16  # 2 m k n: one pass of the layer


@cache
def answers() -> dict[str, Any]:
    """Everything at once: importing torch takes longer than all of it."""
    found: dict[str, Any] = answer_of(CODE)
    return found


@pytest.mark.parametrize(
    ("what", "flops"),
    [
        ("linear", 2 * LINEAR),  # forward and the weight's gradient: the input needs none
        ("input_with_gradient", 3 * LINEAR),
        ("two_linear", 5 * LINEAR),  # the inner activation's gradient is needed
        ("bf16", 2 * LINEAR),
        # 2 x N Cout H W Cin 3 3, forward and the weight's gradient
        ("convolution", 2 * 2 * 2 * 5 * 8 * 8 * 3 * 3 * 3),
        # two products of B H T x T x D forward; five backward: one of them recomputes the scores
        ("attention", (2 + 5) * 2 * 2 * 4 * 16 * 16 * 8),
    ],
)
def test_a_step_is_counted_as_by_hand(what: str, flops: int) -> None:
    assert answers()[what] == [flops, None]


def test_what_cannot_be_counted_is_none_with_its_reason() -> None:
    per_step, reason = answers()["lstm"]
    assert per_step is None
    assert "does not count" in reason or "failed" in reason
    assert answers()["nothing"] == [
        None,
        "no matrix product, convolution or attention was seen",
    ]
    assert answers()["broken"] == [None, "counting FLOPs failed: RuntimeError: no such shape"]


def test_counting_leaves_the_training_as_it_was() -> None:
    assert answers()["same_state"]
    assert answers()["same_random"]
    assert not any(answers()["gradients"])


def test_the_ceiling_is_work_over_time() -> None:
    assert answers()["ceiling"] == 4 * 2 * 64**3  # four products in a second of the clock
    assert answers()["real_ceiling"] > 0
