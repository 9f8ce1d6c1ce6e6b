"""What is on the screen while a run goes on: a bar on a terminal, plain lines elsewhere."""

import os
import statistics
from collections.abc import Callable
from typing import IO, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task
from rich.table import Column
from rich.text import Text

from results.record import Record
from results.wording import outcome as spell_outcome
from results.wording import speedup

USUAL_CELL_S = 30.0  # until one has been measured


class Expectation:
    """How long the rest will take, from the cells that were measured so far."""

    def __init__(self, total: int) -> None:
        self._left = total
        self._measured_s: list[float] = []

    def ended(self, record: Record) -> None:
        self._left -= 1
        if record.wall_s is not None:
            self._measured_s.append(record.wall_s)

    def left_s(self, budget_left_s: float) -> float:
        """Seconds; never more than the budget still allows."""
        usual_s = statistics.mean(self._measured_s) if self._measured_s else USUAL_CELL_S
        return max(0.0, min(self._left * usual_s, budget_left_s))


class _Current(ProgressColumn):
    """The times, which go on within a cell, then the cell: on a narrow terminal its end is cut."""

    def __init__(self, times: Callable[[], str], table_column: Column) -> None:
        super().__init__(table_column)
        self._times = times

    def render(self, task: Task) -> Text:
        return Text(f"{self._times()}  {task.description}")


class Screen:
    """Follows a run. Times come from `elapsed_s` and `budget_left_s`, so that it owns no clock."""

    def __init__(
        self,
        file: IO[str],
        total: int,
        elapsed_s: Callable[[], float],
        budget_left_s: Callable[[], float],
    ) -> None:
        self._console = Console(file=file, highlight=False, width=width_of(file))
        self._total = total
        self._done = 0
        self._elapsed_s = elapsed_s
        self._budget_left_s = budget_left_s
        self._expectation = Expectation(total)
        self._bar = Progress(
            MofNCompleteColumn(table_column=Column(no_wrap=True)),
            BarColumn(bar_width=10),
            _Current(self._times, table_column=Column(no_wrap=True, overflow="ellipsis")),
            console=self._console,
            transient=True,
            refresh_per_second=1,  # drawing takes CPU time from what is measured
        )
        self._task = self._bar.add_task("", total=total)

    def say(self, line: str) -> None:
        self._console.print(Text(line), soft_wrap=True)

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._bar.start()
        return self

    def cell_begins(self, case: str) -> None:
        self._update(case)

    def cell_ends(self, record: Record) -> None:
        self._done += 1
        self._expectation.ended(record)
        self.say(
            f"{self._done:>{len(str(self._total))}}/{self._total}  {result_line(record)}"
            + ("" if self._console.is_terminal else f"  [{self._times()}]")
        )
        self._update("")

    def __exit__(self, *_: object) -> None:
        if self._console.is_terminal:
            self._bar.stop()

    def _update(self, description: str) -> None:
        self._bar.update(self._task, completed=self._done, description=description)

    def _times(self) -> str:
        left_s = self._expectation.left_s(self._budget_left_s())
        return f"{clock(self._elapsed_s())} gone, about {clock(left_s)} to go"


def width_of(file: IO[str]) -> int | None:
    """Columns of the terminal behind `file`; rich looks at standard streams, which pytest captures.

    None where there is none.
    """
    try:
        return os.get_terminal_size(file.fileno()).columns or None
    except OSError:
        return None


def result_line(record: Record) -> str:
    """A cell's result in a line."""
    if record.outcome == "ok" or record.verdict:
        figures = [speedup(record), record.verdict or "", f"{record.wall_s or 0:.0f} s"]
        ended = [] if record.outcome == "ok" else [spell_outcome(record.outcome)]
        return f"{record.cell}  {'  '.join(filter(None, [*ended, *figures]))}"
    return f"{record.cell}  {spell_outcome(record.outcome)}: {record.reason}"


def clock(seconds: float) -> str:
    """Minutes and seconds, 2:05."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02d}"
