"""The largest batch that fits is found, bounded by memory or by time, with every attempt kept."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from benchmarks.engine.arm import ArmFault
from benchmarks.engine.largest_batch import (
    Attempts,
    Found,
    fields,
    largest_batches,
    memory_limit,
    next_batch,
)
from benchmarks.hardware import Glance
from benchmarks.matrix import Scope
from benchmarks.setting import Setting
from tests.benchmarks.machines import hardware

USUAL = 8
BYTES_A_SAMPLE = 1000


@dataclass
class Room:
    """A machine in which batches up to `fits` have room, and a sample takes `sample_s`."""

    fits: int
    sample_s: float = 0.0
    now_s: float = 0.0
    closed: list[int] = field(default_factory=list)
    fault: str = "out_of_memory"

    def search(self, limit_s: float = 1e9) -> Found:
        return Attempts(Setting(), USUAL, self.launch, limit_s, lambda: self.now_s).search()

    def launch(self, setting: Setting, timeout_s: float) -> Any:
        return ArmInRoom(self, round(setting.batch * USUAL), timeout_s)


class ArmInRoom:
    def __init__(self, room: Room, batch: int, timeout_s: float) -> None:
        self.room, self.batch, self.timeout_s = room, batch, timeout_s

    def first_step(self, timeout_s: float) -> dict[str, Any]:
        needed_s = self.batch * self.room.sample_s
        self.room.now_s += min(needed_s, timeout_s)
        if needed_s > timeout_s:
            raise ArmFault("timed_out", "did not finish its first step")
        return {}

    def warm(self, timeout_s: float) -> float:
        if self.batch > self.room.fits:  # with the optimizer's state in its way
            raise ArmFault(self.room.fault, "no room")
        return 0.1

    def read_back(self, timeout_s: float, *, observe: bool = True) -> dict[str, Any]:
        return {"peak_resident_bytes": self.batch * BYTES_A_SAMPLE, "peak_memory_bytes": None}

    def close(self) -> None:
        self.room.closed.append(self.batch)


@pytest.mark.parametrize("fits", [1, 5, 8, 9, 100, 1000, 1023, 1024])
def test_it_is_found_to_one_part_in_sixteen(fits: int) -> None:
    found = Room(fits).search()
    assert not found.time_was_up
    assert found.refused is not None
    assert found.largest <= fits < found.refused
    assert found.refused - found.largest <= max(1, found.largest // 16)


def test_attempts_double_then_bisect_and_every_arm_is_closed() -> None:
    room = Room(40)
    found = room.search()
    assert [a.batch for a in found.attempts] == [8, 16, 32, 64, 48, 40, 44, 42]
    assert room.closed == [a.batch for a in found.attempts]
    outcomes = {a.batch: a.outcome for a in found.attempts}
    assert {batch for batch, outcome in outcomes.items() if outcome == "ok"} == {8, 16, 32, 40}
    assert found.best is not None
    assert found.best.peak_bytes == 40 * BYTES_A_SAMPLE
    assert found.said == "40 fit, 42 do not"


def test_what_would_end_too_late_is_not_begun() -> None:
    room = Room(fits=10_000, sample_s=0.1)
    found = room.search(limit_s=20.0)
    assert [a.batch for a in found.attempts] == [8, 16, 32, 64]  # 12 s; another would take 12.8
    assert found.said == "at least 64: time was up"


def test_an_attempt_that_takes_too_long_ends_the_search() -> None:
    found = Room(fits=10_000, sample_s=10.0).search(limit_s=20.0)
    assert [a.outcome for a in found.attempts] == ["timed_out"]
    assert fields(found, None)["outcome"] == "timed_out"


def test_not_even_one_sample_fits() -> None:
    found = Room(fits=0).search()
    assert [a.batch for a in found.attempts] == [8, 4, 2, 1]
    assert fields(found, 1 << 30)["outcome"] == "out_of_memory"


def test_an_arm_that_fails_otherwise_is_a_fault() -> None:
    with pytest.raises(ArmFault, match="no room"):
        Room(fits=8, fault="failed").search()


def test_a_record_says_by_what_it_was_bounded() -> None:
    said = fields(Room(40).search(), 3 << 30)
    assert said["batch"] == 40
    assert said["resident_bytes"] == 40 * BYTES_A_SAMPLE
    assert said["notes"] == [
        "40 fit, 42 do not",
        "its memory was limited to 3.0 GiB, half of what was available",
    ]
    assert [a["batch"] for a in said["attempts"]][:2] == [8, 16]


def test_an_arm_gets_half_of_what_is_available() -> None:
    assert 0 < memory_limit(hardware()) < 64 << 30


def test_one_cell_for_each_workload_of_the_catalog() -> None:
    glance = Glance(usable_cores=2, devices={"cpu": 1}, reasons={})
    scope = Scope(("resnet18", "own.py:mine"), ("cpu",), glance)
    assert [(cell.id, cell.goal) for cell in largest_batches(scope)] == [
        ("resnet18-cpu", "largest_batch")
    ]


def test_after_the_usual_batch_comes_its_double() -> None:
    assert next_batch(8, 0, None) == 8
    assert next_batch(8, 8, None) == 16
    assert next_batch(8, 64, 128) == 96
    assert next_batch(8, 64, 68) is None
    assert next_batch(8, 0, 1) is None
