"""Whether the suite itself can be believed: measurements of the measuring, each one command.

`python -m benchmarks selfcheck NAME` runs one and prints what it found.
"""
