"""The commands of `python -m results`, one module each.

A command has HELP (one line), `configure(parser)` and `run(arguments)`, which returns the text to
print, or an Answer where the exit code says something too. It raises an error of the room
(StoreError, ColumnError, ...) for what a user can mend.
"""

from dataclasses import dataclass

COMMANDS = ("table", "compare", "history", "recommend")


@dataclass(frozen=True)
class Answer:
    """What a command prints, and the exit code: 0, or 1 for "measured, and found wanting"."""

    text: str
    exit_code: int = 0
