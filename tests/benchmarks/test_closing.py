"""The last screen of a run quotes what the machine was calibrated to show."""

from pathlib import Path

from benchmarks.closing import closing_screen
from results.calibration import keep, sentence
from results.store import RunFolder
from tests.results.examples import laptop_run
from tests.results.test_calibration import FOUND


def screen(folder: Path, device: str) -> str:
    options = {"cache": str(folder), "devices": [device]}
    run = RunFolder.create(folder / "runs", {"machine": FOUND.machine, "options": options})
    for record in laptop_run():
        run.append(record)
    return closing_screen(run, 100, colour=False)


def test_a_calibrated_machine_says_what_it_can_show(tmp_path: Path) -> None:
    assert "Calibrated on" not in screen(tmp_path, "cpu")
    keep(FOUND, tmp_path)
    assert sentence(FOUND) in screen(tmp_path, "cpu")
    assert "Calibrated on" not in screen(tmp_path, "cuda")
