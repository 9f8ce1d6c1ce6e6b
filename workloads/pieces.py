"""Models as a row of modules to be called one after the other: where a model may be cut.

A piece holds the model's own modules and parameters, not copies. `nn.Sequential(*pieces)` computes
what the model does.
"""

from typing import Any

import torch
from torch import Tensor, nn

from workloads.transformer import BERT, GPT2, BERTClassifier


def resnet(model: Any) -> list[nn.Module]:
    """torchvision's ResNet: stem, residual blocks, classifier."""
    stages = (model.layer1, model.layer2, model.layer3, model.layer4)
    return [
        nn.Sequential(model.conv1, model.bn1, model.relu, model.maxpool),
        *(block for stage in stages for block in stage),
        nn.Sequential(model.avgpool, nn.Flatten(), model.fc),
    ]


def vision_transformer(model: Any) -> list[nn.Module]:
    """torchvision's VisionTransformer: patches, encoder layers, classifier."""
    return [Patches(model), *model.encoder.layers, First(model.encoder.ln, model.heads)]


class Patches(nn.Module):
    """Images (batch, 3, edge, edge) to tokens (batch, 1 + patches, width), a class token first."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.project = model.conv_proj
        self.class_token = model.class_token
        self.position = model.encoder.pos_embedding
        self.dropout = model.encoder.dropout

    def forward(self, images: Tensor) -> Tensor:
        patches = self.project(images).flatten(2).transpose(1, 2)
        tokens = torch.cat([self.class_token.expand(len(patches), -1, -1), patches], dim=1)
        embedded: Tensor = self.dropout(tokens + self.position)
        return embedded


class First(nn.Module):
    """Tokens (batch, length, width) through a norm; the first one to logits."""

    def __init__(self, norm: nn.Module, head: nn.Module) -> None:
        super().__init__()
        self.norm = norm
        self.head = head

    def forward(self, tokens: Tensor) -> Tensor:
        logits: Tensor = self.head(self.norm(tokens)[:, 0])
        return logits


def gpt2(model: GPT2) -> list[nn.Module]:
    """Embedding, decoder layers, norm, head; first and last share a weight."""
    return [GPT2Embedding(model), *model.layers, model.norm, model.head]


class GPT2Embedding(nn.Module):
    """Tokens (batch, length) to (batch, length, width)."""

    def __init__(self, model: GPT2) -> None:
        super().__init__()
        self.token_embedding = model.token_embedding
        self.position_embedding = model.position_embedding
        self.dropout = model.dropout

    def forward(self, tokens: Tensor) -> Tensor:
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x: Tensor = self.dropout(self.token_embedding(tokens) + self.position_embedding(positions))
        return x


def bert(model: BERTClassifier) -> list[nn.Module]:
    """Embedding, encoder layers, classifier of the first token."""
    return [BERTEmbedding(model.bert), *model.bert.layers, BERTHead(model)]


class BERTEmbedding(nn.Module):
    """Tokens (batch, length) to (batch, length, width)."""

    def __init__(self, model: BERT) -> None:
        super().__init__()
        self.token_embedding = model.token_embedding
        self.position_embedding = model.position_embedding
        self.segment_embedding = model.segment_embedding
        self.norm = model.norm
        self.dropout = model.dropout

    def forward(self, tokens: Tensor) -> Tensor:
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = (
            self.token_embedding(tokens)
            + self.position_embedding(positions)
            + self.segment_embedding(torch.zeros_like(tokens))
        )
        normed: Tensor = self.dropout(self.norm(x))
        return normed


class BERTHead(nn.Module):
    """(batch, length, width) to logits (batch, classes)."""

    def __init__(self, model: BERTClassifier) -> None:
        super().__init__()
        self.pooler = model.bert.pooler
        self.dropout = model.dropout
        self.head = model.head

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.head(self.dropout(torch.tanh(self.pooler(x[:, 0]))))
        return logits
