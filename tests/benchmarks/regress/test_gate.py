"""The gate's stages on made-up measurements: what is measured again, and what the answer is."""

from collections.abc import Callable

import pytest

from benchmarks.cell import Cell
from benchmarks.guards import PLAIN
from benchmarks.regress.gate import Gated, broken_by_the_new, run_gate, with_controls
from benchmarks.setting import Setting
from results.gate import Result, Rules
from results.record import Record
from tests.results.examples import compared, record

SPREAD = (0.995, 1.0, 1.005, 1.001)
CELLS = [Cell(name, PLAIN, Setting(), "cpu") for name in ("resnet18", "gpt2")]


def measuring(slowdown: dict[str, float]) -> tuple[Callable[[Gated, int], Record], list[str]]:
    """A machine on which the named cells are slower by a factor; and a list of what it measured."""
    log: list[str] = []

    def measure(each: Gated, stage: int) -> Record:
        log.append(f"{stage} {each.name}")
        factor = slowdown.get(each.name, 1.0)
        ratios = [factor * ratio for ratio in SPREAD * (2 if stage else 1)]
        return compared("control", ratios, cell=each.name)

    return measure, log


def gate(slowdown: dict[str, float]) -> tuple[Result, list[str]]:
    measure, log = measuring(slowdown)
    return run_gate(with_controls(CELLS), measure, Rules()), log


def test_every_workload_has_a_control_and_it_comes_first() -> None:
    names = [each.name for each in with_controls(CELLS)]
    assert names[:2] == [f"control[{cell.id}]" for cell in CELLS] or set(names[:2]) == {
        f"control[{cell.id}]" for cell in CELLS
    }
    assert names[2:] == [f"regress[{cell.id}]" for cell in CELLS]


def test_nothing_slower_is_measured_once_and_passes() -> None:
    result, log = gate({})
    assert result.exit_code == 0
    assert all(line.startswith("0 ") for line in log)


def test_a_slower_cell_is_confirmed_on_fresh_starts_and_fails() -> None:
    slow = f"regress[{CELLS[1].id}]"
    result, log = gate({slow: 0.85})
    assert result.exit_code == 1
    assert f"1 {slow}" in log
    assert f"1 regress[{CELLS[0].id}]" not in log
    assert {each.cell for each in result.findings if each.problems} == {slow}


def test_a_control_that_differs_makes_the_answer_inconclusive() -> None:
    result, _ = gate({f"control[{CELLS[0].id}]": 0.8})
    assert result.exit_code == 3


@pytest.mark.parametrize(
    ("outcome", "reason", "broken"),
    [
        ("failed", "rank 0: ValueError: no", True),
        ("out_of_memory", "rank 0: ran out", True),
        ("failed", "baseline: rank 0: ValueError: no", False),
        ("skipped", "needs a GPU", False),
    ],
)
def test_only_a_fault_of_the_new_environment_breaks_a_cell(
    outcome: str, reason: str, broken: bool
) -> None:
    found = broken_by_the_new(record(outcome=outcome, reason=reason))
    assert (found is not None) == broken
