"""The printed loop against the suite's own training: what is compared, and what goes wrong."""

from pathlib import Path
from typing import Any, cast

import pytest

from benchmarks.engine.arm import ArmFault
from benchmarks.engine.experiment import BASELINE
from benchmarks.recipe.check import RUN_S, ScriptError, in_words, script_over_suite
from benchmarks.setting import Setting
from benchmarks.suite import Suite
from tests.benchmarks.made_up_arms import Machine, Speed
from tests.benchmarks.recipe.test_script import script

STEP_S = 0.05
HALF = round(RUN_S / 2 / STEP_S)


class SuiteOf:
    """The one thing that is asked of a suite here: an arm."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def start_arm(self, origin: Any, scale: str, setting: Setting, timeout_s: float) -> Any:
        return self.machine.launch(BASELINE, timeout_s)


def compare(machine: Machine, path: Path, rounds: int = 3, spent: bool = False) -> Any:
    suite = cast(Suite, SuiteOf(machine))
    return script_over_suite(suite, path, script(Setting(num_workers=2)), rounds, lambda: spent)


@pytest.fixture
def machine() -> Machine:
    return Machine(speeds={BASELINE: Speed(step_s=STEP_S)})


@pytest.fixture
def says(tmp_path: Path) -> Any:
    """A script of so many lines of Python, in place of the printed loop."""

    def write(*lines: str) -> Path:
        path = tmp_path / "loop.py"
        path.write_text("\n".join(["import sys", *lines]))
        return path

    return write


def test_a_machine_that_slows_down_meanwhile_favours_neither(machine: Machine, says: Any) -> None:
    machine.drift = lambda block: 2.0 if block % 2 else 1.0  # each second half takes twice as long
    found = compare(machine, says(f"print({1 / (1.5 * STEP_S)}, 'steps/s')"))
    assert found.speedup == pytest.approx(1.0)
    assert (found.low, found.high) == pytest.approx((1.0, 1.0))


def test_a_faster_script_reads_faster(machine: Machine, says: Any) -> None:
    found = compare(machine, says(f"print({1.2 / STEP_S}, 'steps/s')"))
    assert found.speedup == pytest.approx(1.2)
    assert in_words(found).startswith("The script trains 1.20× (1.20–1.20) as fast as the suite's")


def test_the_script_trains_as_many_steps_while_the_arm_is_stopped(
    machine: Machine, says: Any, tmp_path: Path
) -> None:
    steps = tmp_path / "steps"
    compare(
        machine,
        says(f"open({str(steps)!r}, 'w').write(sys.argv[1])", "print(20.0, 'steps/s')"),
        rounds=1,
    )
    assert steps.read_text() == str(2 * HALF)
    (arm,) = machine.arms
    assert arm.runs == [(Setting(num_workers=2).prefetched_batches, HALF, 1)] * 2
    told = [what for _, what in machine.told]
    assert told == ["launch", "first_step", "warm", "run", "pause", "resume", "run", "close"]


def test_every_round_is_a_fresh_start_until_the_time_is_spent(machine: Machine, says: Any) -> None:
    path = says("print(20.0, 'steps/s')")
    compare(machine, path, rounds=3)
    assert len(machine.arms) == 3
    found = compare(machine, path, rounds=3, spent=True)  # the first is always run
    assert len(machine.arms) == 4
    assert found.low is None
    assert in_words(found) == (
        "The script trains 1.00× as fast as the suite's own training under the same setting, "
        "the two run in turns."
    )


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("raise SystemExit('no such data')", "loop.py ended with 1: no such data"),
        ("print('done')", "loop.py printed no steps/s: 'done"),
    ],
)
def test_a_script_that_fails_says_why_and_leaves_no_arm(
    machine: Machine, says: Any, line: str, complaint: str
) -> None:
    with pytest.raises(ScriptError, match=complaint):
        compare(machine, says(line))
    assert [arm.state for arm in machine.arms] == ["closed"]


def test_an_arm_that_fails_is_closed(machine: Machine, says: Any) -> None:
    machine.raises[BASELINE, "resume", 0] = ArmFault("failed", "ended")
    with pytest.raises(ArmFault, match="ended"):
        compare(machine, says("print(20.0, 'steps/s')"))
    assert [arm.state for arm in machine.arms] == ["closed"]
