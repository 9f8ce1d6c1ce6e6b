"""A training on images of a few pixels, with convolutions to see layouts by."""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import Dataset

from workloads import Scale, Source, Workload

CLASSES, PIXELS = 3, 6


class Convolutions(nn.Module):
    """Two of them, and a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 4, 3),
            nn.ReLU(),
            nn.Conv2d(4, 4, 1),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(4, CLASSES),
        )

    def forward(self, images: Tensor) -> Tensor:
        logits: Tensor = self.layers(images)
        return logits


class Pictures(Dataset[tuple[Tensor, Tensor]]):
    def __init__(self, source: Source) -> None:
        pass

    def __getitem__(self, position: int) -> tuple[Tensor, Tensor]:
        generator = torch.Generator().manual_seed(position)
        image = torch.randn(3, PIXELS, PIXELS, generator=generator)
        return image, torch.tensor(position % CLASSES)


SCALE = Scale(batch=4, learning_rate=0.1, model={}, data={})
PICTURES = Workload(
    name="pictures",
    unit="images",
    model=Convolutions,
    data=Pictures,
    optimizer=torch.optim.SGD,
    loss=nn.functional.cross_entropy,
    scales={"tiny": SCALE},
)
NOWHERE = Source(Path())


def losses_of(trained: Any, steps: int) -> list[float]:
    """Of the first steps of a training."""
    for _ in range(steps):
        trained.step()
    found: list[float] = trained.losses()
    return found
