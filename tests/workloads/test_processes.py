"""A position holds the same item in whichever process, however that was started."""

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from itertools import islice
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader, Dataset

from workloads import CATALOG, Source
from workloads.stream import Positions

POSITIONS = [0, 5, 3, 10**6]
ONE_OF_EACH_DATA = ["resnet18", "bert_base", "gpt2"]


@pytest.fixture(params=ONE_OF_EACH_DATA)
def data(request: pytest.FixtureRequest, source: Source) -> Dataset[Any]:
    workload = CATALOG[request.param]
    return workload.build_data(workload.scale("tiny"), source)


@pytest.fixture(scope="module", params=["fork", "spawn"])
def elsewhere(request: pytest.FixtureRequest) -> Iterator[Executor]:
    """Another process; one for all tests, as a spawned one takes seconds to import torch."""
    if request.param not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {request.param} on this platform")
    with ProcessPoolExecutor(1, multiprocessing.get_context(request.param)) as pool:
        yield pool


def items(data: Dataset[Any]) -> list[list[Any]]:
    """Plain lists: tensors would cross between processes in shared memory."""
    return [[torch.as_tensor(part).tolist() for part in data[at]] for at in POSITIONS]


def test_item_is_the_same_elsewhere(data: Dataset[Any], elsewhere: Executor) -> None:
    assert elsewhere.submit(items, data).result(timeout=60) == items(data)


@pytest.mark.parametrize("workers", [1, 2])
def test_batches_are_the_same_for_any_number_of_workers(data: Dataset[Any], workers: int) -> None:
    def batches(workers: int) -> list[Any]:
        loader = DataLoader(
            data, batch_size=3, sampler=Positions(rank=1, world=2), num_workers=workers
        )
        return list(islice(loader, 4))

    for here, there in zip(batches(0), batches(workers), strict=True):
        assert all(map(torch.equal, here, there))


def test_random_state_of_the_caller_is_untouched(
    data: Dataset[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("reseeds the accelerators as well")

    reseeding: list[tuple[object, str]] = [(torch, "manual_seed"), (torch, "seed")]
    for owner, name in reseeding:
        monkeypatch.setattr(owner, name, refuse)
    before = torch.get_rng_state()
    data[11]
    assert torch.equal(torch.get_rng_state(), before)
