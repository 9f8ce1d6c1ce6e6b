"""A workload that trains in milliseconds and imports nothing but torch: for printed scripts."""

import torch
from torch import Tensor, nn
from torch.utils.data import Dataset

from workloads import Scale, Source, Workload

FEATURES, CLASSES, BATCH, ITEMS = 6, 3, 4, 10


class Items(Dataset[tuple[Tensor, Tensor]]):
    """An item is a function of its position in an endless stream over ITEMS items."""

    def __init__(self, source: Source) -> None:
        pass

    def __getitem__(self, position: int) -> tuple[Tensor, Tensor]:
        index = position % ITEMS
        inputs = torch.randn(FEATURES, generator=torch.Generator().manual_seed(index))
        return inputs, torch.tensor(index % CLASSES)


def model() -> nn.Module:
    return nn.Sequential(nn.Linear(FEATURES, 8), nn.ReLU(), nn.Linear(8, CLASSES))


SCALE = Scale(batch=BATCH, learning_rate=0.1, model={}, data={}, units=5)
LINEAR = Workload(
    name="linear",
    unit="tokens",
    model=model,
    data=Items,
    optimizer=torch.optim.SGD,
    scales={"tiny": SCALE},
)
