"""An endless stream over finite data: every position names one item, whoever asks for it."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import Sampler


class Positions(Sampler[int]):
    """rank, rank + world, rank + 2 world, ... without end: the positions that one rank trains on.

    No end means no epoch boundary inside a measured block, where workers would restart.
    """

    def __init__(self, rank: int = 0, world: int = 1) -> None:
        if not 0 <= rank < world:
            raise ValueError(f"rank {rank} is not in 0..{world - 1}")
        self.rank = rank
        self.world = world

    def __iter__(self) -> Iterator[int]:
        position = self.rank
        while True:
            yield position
            position += self.world


def item_at(position: int, items: int) -> int:
    """Index of the item at `position`: each pass over `items` is a permutation of its own.

    Raises:
        IndexError: `position` is negative; the stream has a beginning and no end.
    """
    if position < 0:
        raise IndexError(f"position {position} is before the start of the stream")
    epoch, place = divmod(position, items)
    return int(_order(items, epoch)[place])


@lru_cache(maxsize=4)  # outside the datasets: a spawned worker makes its own, none is pickled
def _order(items: int, epoch: int) -> NDArray[np.int64]:
    return np.random.default_rng((items, epoch)).permutation(items)


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Torch's CPU generator starts from `seed` inside, and is as before afterwards.

    `torch.manual_seed` would reseed the accelerators as well, and change a model's dropout.
    """
    generator = torch.default_generator
    state = generator.get_state()
    generator.manual_seed(seed)
    try:
        yield
    finally:
        generator.set_state(state)
