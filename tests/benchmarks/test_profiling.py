"""Profiles: a trace that opens, with the parts of a step as ranges, and the costliest operators."""

import json
from contextlib import nullcontext
from pathlib import Path

from benchmarks.profiling import TOP, profile_torch, ranges
from benchmarks.training import PARTS
from tests.benchmarks.small_training import training


def test_the_trace_is_json_with_every_part_of_every_step(tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    with training() as small:
        profile_torch(small, 3, trace)
    names = [event.get("name") for event in json.loads(trace.read_text())["traceEvents"]]
    for part in PARTS:
        assert names.count(part) >= 3, part


def test_the_top_operators_come_first_and_are_no_ranges(tmp_path: Path) -> None:
    with training() as small:
        top = profile_torch(small, 2, tmp_path / "trace.json")
    assert 0 < len(top) <= TOP
    assert not {entry["name"] for entry in top} & set(PARTS)
    own = [entry["self_s"] for entry in top]
    assert own == sorted(own, reverse=True)
    assert all(entry["calls"] > 0 for entry in top)


def test_a_mark_opens_the_range_of_its_part() -> None:
    opened: list[str] = []

    def named(name: str) -> nullcontext[None]:
        opened.append(name)
        return nullcontext()

    with ranges(named) as mark:
        for part in PARTS:
            mark(part)
    assert opened == list(PARTS)
