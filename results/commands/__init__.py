"""The commands of `python -m results`, one module each.

A command has HELP (one line), `configure(parser)` and `run(arguments) -> str`, the text to
print. It raises an error of the room (StoreError, ColumnError, ...) for what a user can mend.
"""

COMMANDS = ("table",)
