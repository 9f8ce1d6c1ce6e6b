"""The transformers have the published sizes and look where their papers say."""

import math

import pytest
import torch
from torch import Tensor, nn

from workloads.transformer import BERT, GPT2, Attention, BERTClassifier

SMALL = {"vocabulary": 50, "positions": 16, "width": 32, "layers": 2, "heads": 4}


def parameters(module: nn.Module) -> int:
    return sum(p.numel() for p in module.parameters())


def test_published_sizes() -> None:
    with torch.device("meta"):
        assert parameters(GPT2()) == 124_439_808
        assert parameters(BERT()) == 109_482_240
        assert parameters(BERTClassifier(classes=4)) == 109_482_240 + 4 * 769


def test_gpt2_ties_its_embedding_to_its_head() -> None:
    model = GPT2(**SMALL)
    assert model.head.weight is model.token_embedding.weight


def test_gpt2_starts_out_undecided() -> None:
    torch.manual_seed(0)
    logits = GPT2(**SMALL)(torch.randint(50, (2, 16)))
    assert logits.shape == (2, 16, 50)
    assert logits.abs().max() < 1


def test_projections_into_the_residual_start_smaller() -> None:
    torch.manual_seed(0)
    model = GPT2(**{**SMALL, "width": 256})
    inner = model.get_parameter("layers.0.feed_forward.expand.weight")
    outer = model.get_parameter("layers.1.feed_forward.project.weight")
    assert inner.std().item() == pytest.approx(0.02, rel=0.05)
    assert outer.std().item() == pytest.approx(0.02 / math.sqrt(2 * 2), rel=0.05)


def changes(model: nn.Module, at: int) -> Tensor:
    """Which outputs (length, ...) change when the token at `at` does."""
    tokens = torch.arange(8)[None]
    other = tokens.clone()
    other[0, at] = 40
    with torch.no_grad():
        difference: Tensor = (model.eval()(tokens) - model(other)).abs().amax(-1)[0]
    return difference > 1e-6


def test_gpt2_looks_back_only() -> None:
    torch.manual_seed(0)
    assert changes(GPT2(**SMALL), at=5).tolist() == [False] * 5 + [True] * 3


@pytest.mark.parametrize("at", [0, 7])
def test_bert_looks_both_ways(at: int) -> None:
    torch.manual_seed(0)
    model = BERT(**SMALL)
    assert model(torch.arange(8)[None]).shape == (1, 32)
    assert changes(model, at=at)


def test_position_matters() -> None:
    torch.manual_seed(0)
    model = BERT(**SMALL).eval()
    assert not torch.allclose(model(torch.tensor([[1, 2, 3]])), model(torch.tensor([[1, 3, 2]])))


def test_attention_is_the_formula() -> None:
    """softmax(Q K^T / sqrt(d)) V of Vaswani et al. 2017, one head at a time."""
    torch.manual_seed(0)
    attention = Attention(width=12, heads=3, dropout=0.0, causal=True)
    x = torch.randn(2, 5, 12)
    query, key, value = attention.query_key_value(x).chunk(3, dim=-1)
    heads = []
    for head in range(3):
        q, k, v = (part[..., 4 * head : 4 * head + 4] for part in (query, key, value))
        scores = (q @ k.mT / math.sqrt(4)).masked_fill(torch.ones(5, 5).triu(1).bool(), -math.inf)
        heads.append(scores.softmax(-1) @ v)
    torch.testing.assert_close(attention(x), attention.project(torch.cat(heads, -1)))


def test_dropout_is_for_training_only() -> None:
    torch.manual_seed(0)
    model = BERTClassifier(classes=3, dropout=0.5, **SMALL)
    tokens = torch.randint(50, (2, 16))
    assert not torch.equal(model(tokens), model(tokens))
    assert torch.equal(model.eval()(tokens), model(tokens))
