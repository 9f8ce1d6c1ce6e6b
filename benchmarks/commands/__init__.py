"""The commands of `python -m benchmarks`, one module each, and what each is for.

A command has `configure(parser)` and `run(arguments) -> int`, its exit code. Its line of help is
here, so that naming the commands imports none of them: the doctor runs where packages are missing.
"""

from collections.abc import Mapping

COMMANDS: Mapping[str, str] = {
    "doctor": "say what this machine can train with, and what to mend; works without torch",
    "techniques": "list what there is to try, and what this machine can run",
    "recipe": "find the combination of techniques that pays here, and print its training loop",
    "regress": "compare this tree with a git revision, or this Python with another, and gate on it",
    "calibrate": "measure what this machine can tell: false alarms, slowdowns that a gate catches",
    "selfcheck": "measure how far the suite itself can be believed",
}
