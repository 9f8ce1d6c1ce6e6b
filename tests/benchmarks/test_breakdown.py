"""Where a step's time goes, held against a workload whose parts are sleeps of known length."""

from pathlib import Path

import pytest

from benchmarks.breakdown import break_down
from benchmarks.selfcheck.sleepers import BATCH, LOAD_S, PARTS_S, STEP_S, sleepers
from benchmarks.setting import Setting
from benchmarks.training import Place, Training
from workloads import Source

ROOM = 0.35  # relative; sleeps overshoot on a busy machine, shares barely move


def training(tmp_path: Path, **knobs: int) -> Training:
    scale = sleepers.scale("tiny")
    return Training(sleepers, scale, Source(cache=tmp_path), Setting(**knobs), Place())  # type: ignore[arg-type]


def test_every_part_of_a_step_comes_back(tmp_path: Path) -> None:
    found = break_down(training(tmp_path), steps=10)

    assert found["data_s"] == pytest.approx(BATCH * LOAD_S, rel=ROOM)
    assert found["communication_s"] == 0.0
    for name, seconds in PARTS_S.items():
        assert found[f"{name}_s"] == pytest.approx(seconds, rel=ROOM, abs=0.0005), name


def test_the_parts_add_up_to_the_step(tmp_path: Path) -> None:
    found = break_down(training(tmp_path), steps=5)

    parts = ("data", "copy", "forward", "backward", "optimizer", "communication", "other")
    assert sum(found[f"{name}_s"] for name in parts) == pytest.approx(found["step_s"], rel=0.01)


def test_the_ceilings_are_the_loader_alone_and_computing_alone(tmp_path: Path) -> None:
    found = break_down(training(tmp_path), steps=10)

    assert found["loader_samples_per_s"] == pytest.approx(1 / LOAD_S, rel=ROOM)
    assert found["compute_samples_per_s"] == pytest.approx(
        BATCH / (STEP_S - PARTS_S["copy"]), rel=ROOM
    )


def test_workers_take_the_wait_for_data_away(tmp_path: Path) -> None:
    alone = break_down(training(tmp_path), steps=5)
    helped = break_down(training(tmp_path, num_workers=8), steps=10)

    assert helped["data_s"] < alone["data_s"] / 2
    assert helped["loader_samples_per_s"] > 2 * alone["loader_samples_per_s"]
