"""Where a step's time goes, held against a workload whose parts are sleeps of known length.

The sleeps are ten times the usual ones, so that what a busy machine adds is small beside them.
"""

import os
from pathlib import Path

import pytest

from benchmarks.engine.arm import Arm
from benchmarks.engine.launcher import Launcher
from benchmarks.engine.reaper import Reaper
from benchmarks.ranks.breakdown import break_down
from benchmarks.selfcheck import sleepers
from benchmarks.setting import Setting
from benchmarks.training import Place, Training
from tests.benchmarks.live import job
from workloads import Source

SLOWER = 10
ROOM = 0.3


@pytest.fixture(autouse=True)
def _slow_sleepers(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LOAD_S", "STEP_S"):
        monkeypatch.setattr(sleepers, name, SLOWER * getattr(sleepers, name))
    for name, seconds in sleepers.PARTS_S.items():
        monkeypatch.setitem(sleepers.PARTS_S, name, SLOWER * seconds)


def training(tmp_path: Path, num_workers: int = 0) -> Training:
    workload = sleepers.sleepers
    setting = Setting(num_workers=num_workers)
    return Training(workload, workload.scale("tiny"), Source(cache=tmp_path), setting, Place())


def test_every_part_of_a_step_comes_back(tmp_path: Path) -> None:
    found = break_down(training(tmp_path), steps=3)

    assert found["data_s"] == pytest.approx(sleepers.BATCH * sleepers.LOAD_S, rel=ROOM)
    assert found["communication_s"] == 0.0
    for name, seconds in sleepers.PARTS_S.items():
        assert found[f"{name}_s"] == pytest.approx(seconds, rel=ROOM, abs=0.01), name
    parts = ("data", "copy", "forward", "backward", "optimizer", "communication", "other")
    assert sum(found[f"{name}_s"] for name in parts) == pytest.approx(found["step_s"], rel=0.01)


def test_the_ceilings_are_the_loader_alone_and_computing_alone(tmp_path: Path) -> None:
    found = break_down(training(tmp_path), steps=3)

    assert found["loader_samples_per_s"] == pytest.approx(1 / sleepers.LOAD_S, rel=ROOM)
    computing_s = sleepers.STEP_S - sleepers.PARTS_S["copy"]
    assert found["compute_samples_per_s"] == pytest.approx(sleepers.BATCH / computing_s, rel=ROOM)


@pytest.mark.filterwarnings("ignore:This DataLoader will create")
def test_workers_take_the_wait_for_data_away(tmp_path: Path) -> None:
    alone = break_down(training(tmp_path), steps=2)
    helped = break_down(training(tmp_path, num_workers=8), steps=6)

    assert helped["data_s"] < alone["data_s"] / 2
    assert helped["loader_samples_per_s"] > 2 * alone["loader_samples_per_s"]


@pytest.mark.skipif(os.name != "posix", reason="two gloo ranks are forked")
def test_two_ranks_tell_their_exposed_exchange_and_the_slowest_of_them(
    launcher: Launcher, reaper: Reaper, tmp_path: Path
) -> None:
    arm = Arm.start(launcher, reaper, job("fine", tmp_path, parallel="ddp2"), 120.0)
    try:
        arm.first_step(120.0)
        arm.warm(120.0)
        found = arm.look({"do": "break_down", "steps": 3}, 120.0)["breakdown"]
        flops = arm.look({"do": "count_flops"}, 120.0)
        ceiling = arm.look({"do": "multiply", "dtype": "fp32"}, 120.0)
    finally:
        arm.close()
    assert found["communication_s"] >= 0.0
    assert found["slowest_rank"] in (0, 1)
    assert 1.0 <= found["imbalance"] <= 2.0
    assert flops["devices"] == 2
    assert ceiling["flops_per_s"] > 0
