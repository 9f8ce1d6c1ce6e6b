"""Evidence is what torch itself says, also where that is not what was asked for."""

import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.queues import Queue
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import distributed

from benchmarks.ranks.evidence import gpu_uuids, peak_memory, read_back, skipped_steps
from benchmarks.training import Place
from benchmarks.training.shared import parameter_spread
from tests.benchmarks.small_training import training

PATIENT_S = 60.0  # a limit that no healthy test comes near


@contextmanager
def process_group(folder: Path, rank: int = 0, world: int = 1) -> Iterator[None]:
    """A group of processes that find each other through a file in `folder`."""
    distributed.init_process_group(
        "gloo", init_method=f"file://{folder}/store", rank=rank, world_size=world
    )
    try:
        yield
    finally:
        distributed.destroy_process_group()


def test_of_a_plain_training() -> None:
    with training() as trained:
        for _ in range(3):
            trained.step()
        evidence = read_back(trained)
    plain = {
        "device": "cpu",
        "strategy": "none",
        "replicas": 1,
        "visible_devices": 0,
        "world_size": 1,
        "loader_workers": 0,
        "parameter_spread": 0.0,
        "scaler_skipped_steps": 0,
        "steps": 3,
        "peak_memory_bytes": None,
        "peak_reserved_bytes": None,
    }
    assert {name: evidence[name] for name in plain} == plain
    assert len(evidence["losses"]) == 3
    assert evidence["threads"] == torch.get_num_threads()


def test_loader_workers_are_counted_alive() -> None:
    with training(num_workers=2) as trained:
        trained.step()
        assert read_back(trained)["loader_workers"] == 2
    with training() as trained:
        trained.step()
        assert read_back(trained)["loader_workers"] == 0


def test_the_strategy_is_what_wraps_the_model_not_what_was_asked_for(tmp_path: Path) -> None:
    with process_group(tmp_path), training(parallel="ddp2") as trained:
        trained.step()
        evidence = read_back(trained)
    assert evidence["strategy"] == "DistributedDataParallel"
    assert evidence["replicas"] == 1  # a group of one, whatever the setting says


@pytest.mark.parametrize("halvings", [0, 1, 5])
def test_every_halving_of_the_scale_is_a_step_that_was_skipped(halvings: int) -> None:
    scaler = torch.amp.GradScaler("cpu")
    scaler.scale(torch.zeros(1))
    scaler.update(2.0 ** (16 - halvings))
    assert skipped_steps(scaler) == halvings


def test_without_a_scaler_nothing_is_skipped() -> None:
    assert skipped_steps(torch.amp.GradScaler("cpu", enabled=False)) == 0


def test_on_a_cpu_there_is_no_allocator_to_ask_and_no_gpu_to_name() -> None:
    with training() as trained:
        assert peak_memory(trained) == {"peak_memory_bytes": None, "peak_reserved_bytes": None}
        assert gpu_uuids(trained) == []


def _spread_of_two(folder: Path, rank: int, apart: float, answers: "Queue[Any]") -> None:
    """In a rank: its own copy of the model, rank 1's moved by `apart` in one number."""
    torch.set_num_threads(1)
    with (
        process_group(folder, rank, 2),
        training(place=Place(rank, rank, 2)) as trained,
    ):
        last = list(trained.module.parameters())[-1]
        with torch.no_grad():
            last[0] = 0.5 + apart * rank
        trained._losses = [torch.tensor(1.0 + rank)]
        answers.put((parameter_spread(trained), trained.losses()))


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="needs fork")
@pytest.mark.parametrize("apart", [0.0, 0.25])
def test_ranks_that_drifted_apart_are_found_and_losses_are_their_mean(
    apart: float, tmp_path: Path
) -> None:
    context = multiprocessing.get_context("fork")
    answers: Queue[Any] = context.Queue()
    ranks = [
        context.Process(target=_spread_of_two, args=(tmp_path, rank, apart, answers))
        for rank in range(2)
    ]
    for process in ranks:
        process.start()
    try:
        seen = [answers.get(timeout=PATIENT_S) for _ in ranks]
    finally:
        for process in ranks:
            process.join(timeout=PATIENT_S)
            process.kill()
    assert seen == [(pytest.approx(apart), [1.5])] * 2
