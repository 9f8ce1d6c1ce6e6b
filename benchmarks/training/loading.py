"""Batches from a workload's data, under the setting's loader knobs."""

import multiprocessing
import sys
from collections.abc import Iterator, Mapping
from itertools import islice
from time import perf_counter
from typing import Any

from torch import Tensor
from torch.utils.data import DataLoader, Sampler

from benchmarks.setting import Setting
from benchmarks.training.place import Place
from workloads.stream import Positions

LOOKED_AT = 8  # the first batches, for evidence


class Epochs(Sampler[int]):
    """An endless stream in pieces: each iteration goes on where the last one ended.

    So that a training with epochs sees the samples of one without, in the same order.
    """

    def __init__(self, stream: Sampler[int], samples: int) -> None:
        self._stream = iter(stream)
        self._samples = samples

    def __iter__(self) -> Iterator[int]:
        return islice(self._stream, self._samples)


def load_batches(dataset: Any, batch: int, setting: Setting, place: Place) -> DataLoader[Any]:
    """The loader of one rank.

    Never ends, so that no epoch boundary falls into a measured block, unless the setting has
    epochs.
    """
    workers = setting.num_workers
    stream = Positions(place.rank, place.world)
    return DataLoader(
        dataset,
        batch_size=batch,
        sampler=Epochs(stream, setting.epoch_steps * batch) if setting.epoch_steps else stream,
        num_workers=workers,
        prefetch_factor=setting.prefetch_factor if workers else None,
        collate_fn=getattr(dataset, "collate", None),
        pin_memory=setting.pin_memory,
        persistent_workers=setting.persistent_workers,
        # Python 3.14 would start workers by a fork server: other seconds, and out of our process
        # group. Forked everywhere on Linux, cells of different Pythons compare.
        multiprocessing_context="fork" if workers and sys.platform == "linux" else None,
    )


class Batches(Iterator[Any]):
    """Batch after batch, over the ends of epochs, with what can be seen of the loader from here.

    Args:
        dataset, batch, setting, place: as `load_batches` takes them.
    """

    def __init__(self, dataset: Any, batch: int, setting: Setting, place: Place) -> None:
        began = perf_counter()
        self._loader = load_batches(dataset, batch, setting, place)
        self._running = iter(self._loader)
        self._start_s = perf_counter() - began
        self._workers = worker_pids()
        self._first_batch_s: float | None = None
        self._epoch_starts_s: list[float] = []
        self._looked_at = 0
        self._pinned = 0
        self._may_pin = setting.device != "cpu"  # asking would wake the GPU of a CPU training

    def __next__(self) -> Any:
        if self._looked_at == LOOKED_AT:
            return self._next()
        began = perf_counter()
        batch = self._next()
        if self._first_batch_s is None:
            self._first_batch_s = perf_counter() - began
        self._looked_at += 1
        self._pinned += self._may_pin and all(t.is_pinned() for t in tensors_in(batch))
        return batch

    def _next(self) -> Any:
        try:
            return next(self._running)
        except StopIteration:
            began = perf_counter()
            self._running = iter(self._loader)
            batch = next(self._running)
            self._epoch_starts_s.append(perf_counter() - began)
            self._workers |= worker_pids()
            return batch

    def read_back(self) -> dict[str, Any]:
        """What the loader did so far.

        loader_start_s: to make the loader and start its workers. first_batch_s: from then on, that
        training waited for its first batch. epoch_start_s: the mean wait for the first batch of
        each later epoch. batches_ahead: those that the workers were told to load beforehand.
        loader_processes: all there have been, the living and those of earlier epochs.
        """
        starts = self._epoch_starts_s
        return {
            "loader_start_s": self._start_s,
            "first_batch_s": self._first_batch_s,
            "epochs": 1 + len(starts),
            "epoch_start_s": sum(starts) / len(starts) if starts else None,
            "batches_ahead": len(getattr(self._running, "_task_info", ())),
            "loader_processes": len(self._workers),
            "batches_looked_at": self._looked_at,
            "pinned_batches": self._pinned,
        }


def worker_pids() -> set[int | None]:
    return {child.pid for child in multiprocessing.active_children()}


def tensors_in(batch: Any) -> Iterator[Tensor]:
    """Every tensor of a batch, however it is put together."""
    if isinstance(batch, Tensor):
        yield batch
    elif isinstance(batch, Mapping):
        for value in batch.values():
            yield from tensors_in(value)
    elif isinstance(batch, list | tuple):
        for value in batch:
            yield from tensors_in(value)
