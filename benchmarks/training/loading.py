"""Batches from a workload's data, under the setting's loader knobs."""

import sys
from typing import Any

from torch.utils.data import DataLoader

from benchmarks.setting import Setting
from benchmarks.training.place import Place
from workloads.stream import Positions


def load_batches(dataset: Any, batch: int, setting: Setting, place: Place) -> DataLoader[Any]:
    """The loader of one rank. Never ends: no epoch boundary falls into a measured block."""
    workers = setting.num_workers
    return DataLoader(
        dataset,
        batch_size=batch,
        sampler=Positions(place.rank, place.world),
        num_workers=workers,
        prefetch_factor=setting.prefetch_factor if workers else None,
        # Python 3.14 would start workers by a fork server: other seconds, and out of our process
        # group. Forked everywhere on Linux, cells of different Pythons compare.
        multiprocessing_context="fork" if workers and sys.platform == "linux" else None,
    )
