"""A calibration is kept per machine and device, and quoted by what comes later."""

from dataclasses import replace
from pathlib import Path

import pytest

from results import calibration_table
from results.calibration import Calibration, Detection, Spread, keep, kept, path_of, sentence
from results.proportion import wilson
from results.store import StoreError
from tests.benchmarks.live import strict

FOUND = Calibration(
    machine="0123abcd",
    machine_words="a CPU (2 usable cores)",
    device="cpu",
    at="2026-12-01T10:00:00+00:00",
    torch="2.14.1",
    margin=0.03,
    family_error=0.05,
    power=0.8,
    screening_starts=4,
    confirming_starts=8,
    gates=30,
    cells=2,
    false_alarms=1,
    inconclusive=2,
    gates_s=1500.0,
    wall_s=1800.0,
    detections=(
        Detection(extra_work=0.05, measured_ratio=0.953, starts=20, caught=176, gates=200),
        Detection(extra_work=0.10, measured_ratio=0.91, starts=20, caught=200, gates=200),
        Detection(extra_work=0.03, measured_ratio=0.97, starts=2, caught=None, gates=0),
    ),
    spreads=(
        Spread(
            cell="regress[gpt2]",
            starts=120,
            sd=0.023,
            start_s=3.2,
            detectable={"2": None, "4": 0.081, "8": 0.062, "16": 0.051},
        ),
    ),
)


def test_what_is_kept_is_found_again(tmp_path: Path) -> None:
    path = keep(FOUND, tmp_path / "cache")
    assert kept(tmp_path / "cache", "0123abcd", "cpu") == FOUND
    low, high = strict(path.read_text())["false_alarm_interval"]
    assert (low, high) == wilson(1, 30)
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_another_machine_or_device_has_none(tmp_path: Path) -> None:
    keep(FOUND, tmp_path)
    assert kept(tmp_path, "4567cdef", "cpu") is None
    assert kept(tmp_path, "0123abcd", "cuda") is None


@pytest.mark.parametrize("text", ["", "[]", '{"schema": 0}', '{"schema": 1}', "\udcff"])
def test_a_file_that_is_none_counts_as_none(tmp_path: Path, text: str) -> None:
    path_of(tmp_path, "0123abcd", "cpu").write_bytes(text.encode(errors="surrogateescape"))
    assert kept(tmp_path, "0123abcd", "cpu") is None


def test_a_folder_that_takes_nothing_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(StoreError, match="cannot keep"):
        keep(FOUND, tmp_path / "cache")


def test_later_runs_say_what_the_machine_can_show() -> None:
    assert sentence(FOUND) == (
        "Calibrated on 2026-12-01: false alarms in 1 of 30 gates of unchanged code (at most 17%); "
        "5% of extra work is caught in 9 of 10 gates, 10% of extra work is caught in 10 of 10 "
        "gates."
    )
    assert sentence(None).startswith("Not calibrated: `nox -s calibrate`")


@pytest.mark.parametrize(("caught", "words"), [(199, "99.5% of gates"), (1, "0.5% of gates")])
def test_seldom_is_not_never_and_usual_is_not_always(caught: int, words: str) -> None:
    rare = replace(FOUND, detections=(replace(FOUND.detections[0], caught=caught),))
    assert words in sentence(rare)


def test_the_tables_hold_every_number() -> None:
    page = calibration_table.markdown(FOUND)
    assert "1 of 30 gates of unchanged code" in page
    assert "0.953" in page
    assert "88% of 200" in page
    assert "−8.1% (13 s)" in page  # at 4 starts of 3.2 s
    assert "– (6.4 s)" in page  # two starts find nothing
    narrow = calibration_table.terminal(FOUND, 60)
    assert max(map(len, narrow.splitlines())) <= 60
