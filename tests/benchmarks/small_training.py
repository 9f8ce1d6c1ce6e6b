"""A training of a few numbers on the CPU, whose every step can be checked by hand."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import Dataset

from benchmarks.setting import Setting
from benchmarks.training import Place, Training
from workloads import Scale, Source, Workload

FEATURES, CLASSES, BATCH, ITEMS = 6, 3, 4, 10


class Model(nn.Module):
    """Two linear layers."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(FEATURES, 8), nn.ReLU(), nn.Linear(8, CLASSES))

    def forward(self, inputs: Tensor) -> Tensor:
        logits: Tensor = self.layers(inputs)
        return logits


class Items(Dataset[tuple[Tensor, Tensor]]):
    """An item is a function of its position in an endless stream over ITEMS items."""

    def __init__(self, source: Source) -> None:
        pass

    def __getitem__(self, position: int) -> tuple[Tensor, Tensor]:
        index = position % ITEMS
        inputs = torch.randn(FEATURES, generator=torch.Generator().manual_seed(index))
        return inputs, torch.tensor(index % CLASSES)


SCALE = Scale(batch=BATCH, learning_rate=0.1, model={}, data={}, units=5)
SMALL = Workload(
    name="small",
    unit="tokens",
    model=Model,
    data=Items,
    optimizer=torch.optim.SGD,
    loss=nn.functional.cross_entropy,
    scales={"tiny": SCALE},
)


@contextmanager
def training(
    workload: Workload = SMALL, *, place: Place | None = None, seed: int = 0, **knobs: Any
) -> Iterator[Training]:
    """A training under Setting(**knobs), whose loader workers are gone afterwards."""
    with flags_as_before():
        built = Training(
            workload, SCALE, Source(Path()), Setting(**knobs), place or Place(), seed=seed
        )
        try:
            yield built
        finally:
            del built.batches
            gc.collect()


@contextmanager
def flags_as_before() -> Iterator[None]:
    """A training sets global flags: right in a rank, not in the process of all tests."""
    cudnn: Any = torch.backends.cudnn
    flags: list[Any] = [torch.backends.cuda.matmul, cudnn, cudnn.conv, cudnn.rnn]
    before = [flag.fp32_precision for flag in flags]
    try:
        yield
    finally:
        torch.set_float32_matmul_precision("highest")
        cudnn.allow_tf32 = True  # torch's defaults
        for flag, value in zip(flags, before, strict=True):
            flag.fp32_precision = value
