"""What the README shows works: its example of an own workload, by the command beside it."""

import math
import re
from pathlib import Path

from tests.benchmarks.live import ROOT, bench, lines_of


def section(title: str) -> str:
    """The text of README.md under a heading of the second level."""
    text = (ROOT / "README.md").read_text()
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    assert found, f"README.md has no section '{title}'"
    return found[1]


def only(pattern: str, text: str) -> str:
    """The one place in `text` that matches: an example nobody finds twice."""
    [found] = re.findall(pattern, text, re.S)
    return str(found)


def test_the_own_workload_trains_by_the_command_that_the_readme_gives(tmp_path: Path) -> None:
    shown = section("Your own workload")
    file = only(r"Save this as `(\S+)`", shown)
    reference = only(r"nox -s bench -- --workload (\S+)", shown)
    assert reference.startswith(f"{file}:")
    (tmp_path / file).write_text(only(r"```python\n(.*?)```", shown))

    runs = tmp_path / "runs"
    started = bench(
        *("--workload", tmp_path / reference, "-k", "test_matrix and workers0-fp32-single"),
        *("--starts", "2", "--pairs", "1", "--attribute", "none"),
        runs=runs,
    )
    try:
        said, _ = started.communicate(timeout=300)
    finally:
        started.kill()  # its arms end with it; nothing to do where it has ended

    assert started.returncode == 0, said
    [record] = lines_of(runs / "latest" / "records.jsonl")
    assert (record["outcome"], record["reason"]) == ("ok", None), said
    assert f'"{record["workload"]}"' in shown
    assert f'"{record["unit"]}"' in shown
    assert record["samples_per_s"] > 0
    assert all(map(math.isfinite, record["losses"]))
