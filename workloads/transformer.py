"""GPT-2 and BERT in plain PyTorch, on `scaled_dot_product_attention`.

They differ in where the norms stand, which way attention looks and what is read off at the end.
Nothing here knows a device, a precision or a parallel strategy: those are applied from outside.
"""

import math
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

INIT_STD = 0.02  # of every weight matrix, in both papers' code


class GPT2(nn.Module):
    """Decoder (Radford et al. 2019): tokens (batch, length) to logits (batch, length, vocabulary).

    The defaults are the smallest published model, 124,439,808 parameters, without dropout: one pass
    over much text, as it is trained today, has no use for it.
    """

    def __init__(
        self,
        *,
        vocabulary: int = 50257,
        positions: int = 1024,
        width: int = 768,
        layers: int = 12,
        heads: int = 12,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.token_embedding = nn.Embedding(vocabulary, width)
        self.position_embedding = nn.Embedding(positions, width)
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.ModuleList(DecoderLayer(width, heads, dropout) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.apply(initialise)
        for name, parameter in self.named_parameters():
            if name.endswith(
                "project.weight"
            ):  # keeps the sum of 2 x layers residuals at unit scale
                nn.init.normal_(parameter, std=INIT_STD / math.sqrt(2 * layers))
        self.head.weight = self.token_embedding.weight

    def forward(self, tokens: Tensor) -> Tensor:
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.dropout(self.token_embedding(tokens) + self.position_embedding(positions))
        for layer in self.layers:
            x = layer(x)
        logits: Tensor = self.head(self.norm(x))
        return logits


class DecoderLayer(nn.Module):
    """Normalise first, look back only."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(width)
        self.attention = Attention(width, heads, dropout, causal=True)
        self.feed_forward_norm = nn.LayerNorm(width)
        self.feed_forward = FeedForward(width, dropout, gelu="tanh")

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.attention_norm(x))
        deeper: Tensor = x + self.feed_forward(self.feed_forward_norm(x))
        return deeper


class BERT(nn.Module):
    """Encoder (Devlin et al. 2019): tokens (batch, length) to pooled features (batch, width).

    The defaults are BERT-base, 109,482,240 parameters. The first token of a sequence is [CLS], from
    which the features are pooled; all tokens belong to segment A, and none is padding.
    """

    def __init__(
        self,
        *,
        vocabulary: int = 30522,
        positions: int = 512,
        width: int = 768,
        layers: int = 12,
        heads: int = 12,
        dropout: float = 0.1,
    ) -> None:
        super().__init__()
        self.token_embedding = nn.Embedding(vocabulary, width)
        self.position_embedding = nn.Embedding(positions, width)
        self.segment_embedding = nn.Embedding(2, width)
        self.norm = nn.LayerNorm(width, eps=1e-12)
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.ModuleList(EncoderLayer(width, heads, dropout) for _ in range(layers))
        self.pooler = nn.Linear(width, width)
        self.apply(initialise)

    def forward(self, tokens: Tensor) -> Tensor:
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = (
            self.token_embedding(tokens)
            + self.position_embedding(positions)
            + self.segment_embedding(torch.zeros_like(tokens))
        )
        x = self.dropout(self.norm(x))
        for layer in self.layers:
            x = layer(x)
        return torch.tanh(self.pooler(x[:, 0]))


class EncoderLayer(nn.Module):
    """Look both ways, normalise last."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.attention = Attention(width, heads, dropout, causal=False)
        self.attention_norm = nn.LayerNorm(width, eps=1e-12)
        self.feed_forward = FeedForward(width, dropout, gelu="none")
        self.feed_forward_norm = nn.LayerNorm(width, eps=1e-12)

    def forward(self, x: Tensor) -> Tensor:
        x = self.attention_norm(x + self.attention(x))
        normed: Tensor = self.feed_forward_norm(x + self.feed_forward(x))
        return normed


class BERTClassifier(nn.Module):
    """BERT with a linear head: tokens (batch, length) to logits (batch, classes).

    Keyword arguments beyond `classes` are BERT's.
    """

    def __init__(self, *, classes: int, dropout: float = 0.1, **bert: int) -> None:
        super().__init__()
        self.bert = BERT(dropout=dropout, **bert)
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(self.bert.pooler.out_features, classes)
        self.head.apply(initialise)

    def forward(self, tokens: Tensor) -> Tensor:
        logits: Tensor = self.head(self.dropout(self.bert(tokens)))
        return logits


class Attention(nn.Module):
    """Multi-head self-attention over (batch, length, width)."""

    def __init__(self, width: int, heads: int, dropout: float, *, causal: bool) -> None:
        super().__init__()
        self.heads = heads
        self.causal = causal
        self.query_key_value = nn.Linear(width, 3 * width)
        self.project = nn.Linear(width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        split: Tensor = self.query_key_value(x).unflatten(-1, (3, self.heads, -1))
        query, key, value = split.permute(2, 0, 3, 1, 4)  # each (batch, heads, length, features)
        attended = F.scaled_dot_product_attention(
            query,
            key,
            value,
            dropout_p=self.dropout.p if self.training else 0.0,
            is_causal=self.causal,
        )
        projected: Tensor = self.dropout(self.project(attended.transpose(1, 2).flatten(2)))
        return projected


class FeedForward(nn.Module):
    """Two layers, four times as wide between them; GPT-2 takes the tanh form of GELU, BERT not."""

    def __init__(self, width: int, dropout: float, *, gelu: Literal["none", "tanh"]) -> None:
        super().__init__()
        self.expand = nn.Linear(width, 4 * width)
        self.activation = nn.GELU(approximate=gelu)
        self.project = nn.Linear(4 * width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        narrowed: Tensor = self.dropout(self.project(self.activation(self.expand(x))))
        return narrowed


def initialise(module: nn.Module) -> None:
    """Small normal weights, zero biases; norms keep their ones and zeros."""
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=INIT_STD)
    if isinstance(module, nn.Linear) and module.bias is not None:
        nn.init.zeros_(module.bias)
