"""pytest-benchmark is told exactly what was measured, and its JSON holds that."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.replay import ReplayClock, timer_of

DURATIONS = [0.125, 0.25, 0.5, 0.0625]
CASE = f"""
import pytest
from benchmarks.replay import ReplayClock, replay, timer_of

clock = ReplayClock()

@pytest.mark.benchmark(timer=timer_of(clock))
def test_case(benchmark):
    replay(benchmark, clock, {DURATIONS})
"""


def test_each_pair_of_readings_is_one_duration_apart() -> None:
    clock = ReplayClock()
    clock.load(DURATIONS)
    readings = [(clock.reading(), clock.reading()) for _ in DURATIONS]
    assert [end - begin for begin, end in readings] == pytest.approx(DURATIONS)


def test_no_time_passes_between_rounds_or_when_nothing_is_left() -> None:
    clock = ReplayClock()
    assert clock.reading() == clock.reading()
    clock.load([1.0, 1.0])
    readings = [clock.reading() for _ in range(8)]
    assert readings == [0, 1, 1, 2, 2, 2, 2, 2]


def test_what_is_loaded_is_not_changed() -> None:
    durations = [1.0, 2.0]
    clock = ReplayClock()
    clock.load(durations)
    clock.reading(), clock.reading()
    assert durations == [1.0, 2.0]


def test_a_timer_is_a_function_with_a_name_that_says_where_time_was_taken() -> None:
    clock = ReplayClock()
    clock.load([3.0])
    timer = timer_of(clock)
    assert timer.__name__ == "measured_in_the_rank"
    assert (timer(), timer()) == (0.0, 3.0)


def test_pytest_benchmarks_own_json_holds_the_durations(tmp_path: Path) -> None:
    (tmp_path / "test_case.py").write_text(CASE)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_case.py"]
    root = Path(__file__).parent.parent.parent
    ended = subprocess.run(
        [*command, "--benchmark-json=out.json", f"--rootdir={tmp_path}"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(root), "PATH": "", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    (entry,) = json.loads((tmp_path / "out.json").read_text())["benchmarks"]
    assert entry["stats"]["data"] == pytest.approx(DURATIONS)
    assert entry["stats"]["median"] == pytest.approx(0.1875)
    assert entry["options"]["timer"] == "measured_in_the_rank"
