"""Loader and copies: what a technique changes can be seen, and evidence that lies is refused."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from benchmarks.engine.experiment import steps_to_drain
from benchmarks.ranks.evidence import read_back
from benchmarks.setting import Setting
from benchmarks.techniques.loading import workers
from benchmarks.techniques.technique import Technique
from benchmarks.techniques.transfer import (
    COPY_STREAM,
    EPOCH_STEPS,
    PERSISTENT_WORKERS,
    PIN_MEMORY,
    PINNED_NON_BLOCKING,
    PREFETCH_4,
    worker_counts,
)
from benchmarks.training import transfer
from benchmarks.training.loading import tensors_in
from benchmarks.training.transfer import CopiedAhead, copy_waits, move
from tests.benchmarks.machines import hardware
from tests.benchmarks.small_training import training

COPYING = (PIN_MEMORY, PINNED_NON_BLOCKING, COPY_STREAM)
CUDA = Setting(device="cuda")


def convinced(technique: Technique, name: str, setting: Setting, **evidence: Any) -> bool:
    finding = technique.checks[name](setting, evidence)
    assert finding
    return finding[0]


def evidence_of(steps: int, **knobs: Any) -> tuple[dict[str, Any], list[float]]:
    with training(**knobs) as trained:
        for _ in range(steps):
            trained.step()
        evidence = read_back(trained)
    return evidence, evidence["losses"]


# Workers


@pytest.mark.parametrize(
    ("cores", "counts"),
    [(1, [1]), (2, [1, 2]), (3, [1, 2, 3]), (8, [1, 2, 4, 8]), (12, [1, 2, 4, 8, 12])],
)
def test_the_number_of_workers_is_doubled_up_to_the_cores(cores: int, counts: list[int]) -> None:
    assert worker_counts(cores) == counts


@pytest.mark.parametrize("workers", [0, 1])
def test_starting_the_loader_and_waiting_for_the_first_batch_are_told_apart(workers: int) -> None:
    evidence, _ = evidence_of(1, num_workers=workers)
    assert evidence["loader_start_s"] > 0
    assert evidence["first_batch_s"] > 0
    assert evidence["epochs"] == 1
    assert evidence["loader_processes"] == workers


def test_the_batches_ordered_ahead_are_the_workers_times_the_factor() -> None:
    setting = PREFETCH_4.apply(PREFETCH_4.baseline("cpu"))
    evidence, _ = evidence_of(2, num_workers=2, prefetch_factor=4)
    assert evidence["batches_ahead"] == 8
    assert convinced(PREFETCH_4, "batches_ahead", setting, **evidence)
    assert not convinced(PREFETCH_4, "batches_ahead", setting, batches_ahead=4)
    assert not convinced(PREFETCH_4, "batches_ahead", Setting(), batches_ahead=8)


# Epochs


@pytest.mark.parametrize("workers", [0, 2])
def test_epochs_change_nothing_in_what_is_trained_on(workers: int) -> None:
    _, endless = evidence_of(8)
    evidence, losses = evidence_of(8, num_workers=workers, epoch_steps=3)
    assert losses == endless
    assert evidence["epochs"] == 3
    assert evidence["epoch_start_s"] > 0


@pytest.mark.parametrize(("persistent", "processes"), [(False, 6), (True, 2)])
def test_persistent_workers_are_started_once_and_others_every_epoch(
    persistent: bool, processes: int
) -> None:
    knobs = {"num_workers": 2, "epoch_steps": 3, "persistent_workers": persistent}
    evidence, _ = evidence_of(8, **knobs)
    assert evidence["loader_processes"] == processes
    setting = Setting(**knobs)  # type: ignore[arg-type]
    assert convinced(PERSISTENT_WORKERS, "epochs", setting, **evidence)
    other = {"epochs": 3, "loader_processes": 8 - processes}
    assert not convinced(PERSISTENT_WORKERS, "epochs", setting, **other)


def test_without_an_end_of_an_epoch_persistent_workers_show_nothing() -> None:
    setting = PERSISTENT_WORKERS.apply(PERSISTENT_WORKERS.baseline("cpu"))
    assert setting.epoch_steps == EPOCH_STEPS
    assert not convinced(PERSISTENT_WORKERS, "epochs", setting, epochs=1, loader_processes=2)


def test_a_plain_training_has_one_epoch() -> None:
    assert convinced(PERSISTENT_WORKERS, "epochs", Setting(), epochs=1, loader_processes=0)
    assert not convinced(PERSISTENT_WORKERS, "epochs", Setting(), epochs=2, loader_processes=0)


# Copies


@pytest.mark.parametrize("technique", COPYING, ids=lambda technique: technique.name)
def test_copies_need_a_device_with_memory_of_its_own(technique: Technique) -> None:
    def need(device: str) -> str | None:
        return technique.needs(hardware(), technique.apply(technique.baseline(device)))

    assert need("cpu") == f"{technique.name} needs a GPU to copy to, cpu is none"
    assert need("mps") == (
        f"{technique.name} needs a GPU with memory of its own, mps shares the CPU's"
    )
    assert need("cuda") is None


@pytest.mark.parametrize("technique", [PREFETCH_4, PERSISTENT_WORKERS], ids=lambda t: t.name)
def test_what_workers_do_needs_workers(technique: Technique) -> None:
    assert technique.needs(hardware(), technique.apply(Setting())) == (
        f"{technique.name} needs loader workers, there are 0"
    )
    assert technique.needs(hardware(), workers(2).apply(Setting())) is None


def test_batches_must_be_pinned_where_the_row_says_so_and_nowhere_else() -> None:
    pinned = PIN_MEMORY.apply(CUDA)
    assert convinced(PIN_MEMORY, "pinned", pinned, batches_looked_at=8, pinned_batches=8)
    assert not convinced(PIN_MEMORY, "pinned", pinned, batches_looked_at=8, pinned_batches=7)
    assert not convinced(PIN_MEMORY, "pinned", CUDA, batches_looked_at=8, pinned_batches=8)


def test_the_host_must_not_wait_for_a_copy_that_does_not_block() -> None:
    going_on = PINNED_NON_BLOCKING.apply(CUDA)
    assert convinced(PINNED_NON_BLOCKING, "copies_wait", going_on, copy_waits=False)
    assert not convinced(PINNED_NON_BLOCKING, "copies_wait", going_on, copy_waits=True)
    assert not convinced(PINNED_NON_BLOCKING, "copies_wait", CUDA, copy_waits=False)


def test_a_copy_stream_must_have_copied() -> None:
    aside = COPY_STREAM.apply(CUDA)
    assert convinced(COPY_STREAM, "copied_aside", aside, copied_aside=5)
    assert not convinced(COPY_STREAM, "copied_aside", aside, copied_aside=0)
    assert not convinced(COPY_STREAM, "copied_aside", CUDA, copied_aside=5)


def test_on_a_cpu_nothing_is_pinned_or_copied_aside_and_no_waiting_is_seen() -> None:
    evidence, _ = evidence_of(2)
    assert evidence["batches_looked_at"] == 2
    assert (evidence["pinned_batches"], evidence["copied_aside"]) == (0, 0)
    assert evidence["copy_waits"] is None


def test_whether_the_host_waits_is_torchs_own_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    modes: list[str] = []

    def synchronizing(*_: Any, non_blocking: bool) -> None:
        if not non_blocking:
            raise RuntimeError("called a synchronizing CUDA operation")

    monkeypatch.setattr(torch.cuda, "set_sync_debug_mode", modes.append)
    monkeypatch.setattr(transfer, "move", synchronizing)
    cuda = torch.device("cuda")
    assert copy_waits(None, cuda, Setting()) is True
    assert copy_waits(None, cuda, Setting(non_blocking=True)) is False
    assert modes == ["error", "default"] * 2


def test_encoded_images_stay_where_they_are_decoded_from() -> None:
    encoded = [torch.zeros(3, dtype=torch.uint8)]
    inputs, targets = move((encoded, torch.tensor([1])), torch.device("cpu"), non_blocking=False)
    assert inputs is encoded
    assert targets.tolist() == [1]


def test_tensors_are_found_however_a_batch_is_put_together() -> None:
    one, two, three = torch.zeros(1), torch.zeros(2), torch.zeros(3)
    assert list(tensors_in({"images": [one, two], "rest": (three, "text", 4)})) == [one, two, three]


def test_a_batch_that_lies_copied_ahead_is_drained_too() -> None:
    assert steps_to_drain(Setting(num_workers=2), 2.0, can_pause=True) == 2
    assert steps_to_drain(Setting(num_workers=2, copy_stream=True), 2.0, can_pause=True) == 3
    assert steps_to_drain(Setting(num_workers=2, copy_stream=True), 2.0, can_pause=False) == 5


class Stream:
    """Of a device that is not there: notes what it is told."""

    current: "Stream"

    def __init__(self, name: object) -> None:
        self.name = str(name)

    def __enter__(self) -> None:
        self.before, Stream.current = Stream.current, self

    def __exit__(self, *_: object) -> None:
        Stream.current = self.before

    def wait_stream(self, other: "Stream") -> None:
        told.append(f"{self.name} waits for {other.name}")


class OnDevice(Tensor):
    """Notes on which stream it was copied, and that one uses it."""

    def to(self, *_: Any, **__: Any) -> Tensor:
        told.append(f"copy {int(self)} on {Stream.current.name}")
        return self

    @property
    def device(self) -> torch.device:  # type: ignore[override]
        return torch.device("cuda")

    def record_stream(self, stream: Any) -> None:
        told.append(f"{stream.name} uses {int(self)}")


told: list[str] = []


class Numbers(Iterator[Any]):
    """Batches 0, 1, 2, ... as a `Batches` would give them."""

    def __init__(self) -> None:
        self.next = 0

    def __next__(self) -> Any:
        number = torch.tensor(self.next).as_subclass(OnDevice)
        self.next += 1
        return number, torch.tensor(0)


def test_the_next_batch_is_copied_while_this_one_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    told.clear()
    Stream.current = Stream("compute")
    monkeypatch.setattr(torch, "Stream", lambda device: Stream("aside"))
    monkeypatch.setattr(torch.accelerator, "current_stream", lambda device: Stream.current)
    batches: Any = CopiedAhead(Numbers(), torch.device("cpu"))  # type: ignore[arg-type]
    first, _ = next(batches)
    assert told == [
        "copy 0 on aside",
        "compute waits for aside",
        "compute uses 0",
        "copy 1 on aside",
    ]
    told.clear()
    second, _ = next(batches)
    assert told == ["compute waits for aside", "compute uses 1", "copy 2 on aside"]
    assert (int(first), int(second)) == (0, 1)
    assert batches.copied_aside == 3
