"""What a run says while it goes on: plain lines that hold results, and an honest expectation."""

import fcntl
import io
import os
import pty
import re
import select
import struct
import termios

import pytest

from benchmarks.progress import USUAL_CELL_S, Expectation, Screen, clock, result_line
from tests.results.examples import compared, record

FOREVER = float("inf")


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0, "0:00"), (5.4, "0:05"), (59.6, "1:00"), (125, "2:05"), (3725, "62:05")],
)
def test_a_clock_shows_minutes_and_seconds(seconds: float, shown: str) -> None:
    assert clock(seconds) == shown


# Expectation


def test_before_the_first_cell_the_usual_is_expected() -> None:
    assert Expectation(10).left_s(FOREVER) == 10 * USUAL_CELL_S


def test_then_the_rest_takes_as_long_as_the_cells_so_far() -> None:
    expectation = Expectation(10)
    for wall_s in (10.0, 20.0):
        expectation.ended(compared("amp_bf16", [1.2], wall_s=wall_s))
    assert expectation.left_s(FOREVER) == pytest.approx(8 * 15)


def test_a_skipped_cell_is_done_and_says_nothing_of_the_others() -> None:
    expectation = Expectation(3)
    expectation.ended(record("dp", outcome="skipped", reason="dp needs 2 GPUs, found 0"))
    assert expectation.left_s(FOREVER) == 2 * USUAL_CELL_S


def test_never_more_than_the_budget_allows_and_never_less_than_nothing() -> None:
    assert Expectation(10).left_s(42.0) == 42.0
    assert Expectation(10).left_s(-5.0) == 0.0


# Lines


def test_a_measured_cell_in_a_line() -> None:
    line = result_line(compared("amp_bf16", [1.30, 1.31, 1.32], wall_s=23.4))
    assert line.startswith("test_matrix[resnet18-cpu-amp_bf16]  1.31× (")
    assert line.endswith("faster  23 s")


@pytest.mark.parametrize("outcome", ["skipped", "out_of_memory", "failed", "not_run"])
def test_a_cell_that_was_not_measured_says_why(outcome: str) -> None:
    line = result_line(record("dp", outcome=outcome, reason="because of this"))
    assert line == f"test_matrix[resnet18-cpu-dp]  {outcome.replace('_', ' ')}: because of this"


def test_a_cell_that_ran_out_of_time_shows_the_bound_that_is_known() -> None:
    slow = record("amp_fp16", outcome="timed_out", reason="x", verdict="slower", speedup_high=0.004)
    line = result_line(slow)
    assert "timed out" in line
    assert "≤ 0.01×  slower" in line


# Screen


def screen(file: io.StringIO, total: int) -> Screen:
    return Screen(file, total, elapsed_s=lambda: 65.0, budget_left_s=lambda: 30.0)


def test_without_a_terminal_each_cell_is_a_plain_line_with_the_time() -> None:
    file = io.StringIO()
    with screen(file, total=12) as shown:
        shown.say("run 2026, 12 cells")
        shown.cell_begins("test_matrix[resnet18-cpu-amp_bf16]")
        shown.cell_ends(compared("amp_bf16", [1.3, 1.3]))
    first, second = file.getvalue().splitlines()
    assert first == "run 2026, 12 cells"
    assert second.startswith(" 1/12  test_matrix[resnet18-cpu-amp_bf16]  1.30×")
    assert second.endswith("[1:05 gone, about 0:30 to go]")
    assert "\x1b" not in file.getvalue()


def test_a_line_is_never_wrapped_nor_read_as_markup() -> None:
    file = io.StringIO()
    with screen(file, total=1) as shown:
        shown.cell_ends(record("dp", outcome="failed", reason="[red]long[/] " * 40))
    (line,) = file.getvalue().splitlines()
    assert line.count("[red]long[/]") == 40


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_on_a_terminal_a_bar_names_the_cell_that_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    file = Terminal()
    with screen(file, total=2) as shown:
        shown.cell_begins("test_matrix[gpt2-cpu-ddp2]")
        shown._bar.refresh()
    assert "test_matrix[gpt2-cpu-ddp2]" in file.getvalue()
    assert "0/2" in file.getvalue()


# The bar


def drawn(columns: int) -> str:
    """What a terminal of that width has seen of a run of four cells, in the second one."""
    ours, theirs = pty.openpty()
    size = struct.pack("HHHH", 24, columns, 0, 0)
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, size)
    with os.fdopen(theirs, "w") as terminal:
        screen = Screen(terminal, 4, lambda: 65.0, lambda: FOREVER)
        with screen:
            screen.cell_ends(compared("amp_bf16", [1.30, 1.31, 1.32], wall_s=30.0))
            screen.cell_begins("test_matrix[gpt2-cpu-workers2-amp_bf16-single]")
            screen._bar.refresh()
            seen = b""
            while select.select([ours], [], [], 0.2)[0]:
                seen += os.read(ours, 1 << 16)
    os.close(ours)
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen.decode())


@pytest.mark.skipif(os.name != "posix", reason="pseudo terminals")
def test_a_wide_terminal_shows_the_bar_whole() -> None:
    seen = drawn(150)
    assert "1/4" in seen
    assert "1:05 gone, about 1:30 to go  test_matrix[gpt2-cpu-workers2-amp_bf16-single]" in seen


@pytest.mark.skipif(os.name != "posix", reason="pseudo terminals")
def test_a_narrow_one_loses_the_end_of_the_cells_name_and_no_figure() -> None:
    seen = drawn(70)
    assert "1:05 gone, about 1:30 to go  test_matrix[gpt2" in seen
    assert "amp_bf16-single]" not in seen.splitlines()[-1]
