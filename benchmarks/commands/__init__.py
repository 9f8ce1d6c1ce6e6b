"""The commands of `python -m benchmarks`, one module each.

A command has HELP (one line), `configure(parser)` and `run(arguments) -> int`, its exit code.
"""

COMMANDS = ("doctor", "regress", "selfcheck")
