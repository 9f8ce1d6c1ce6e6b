"""What profiles found, as a reader sees it; and that all looks come below the tables."""

from results.profiles import SHOWN, profiles
from results.where import where_markdown, where_terminal
from tests.results.examples import record
from tests.results.test_shares import ATTRIBUTED

TOP = [
    {"name": f"aten::op{place}", "calls": 80, "self_s": 0.4 / (1 + place), "share": 0.3}
    for place in range(SHOWN + 3)
]
TRACED = {"trace": "cell.trace.json", "steps": 4, "top": TOP}


def test_nothing_is_said_where_nothing_was_profiled() -> None:
    assert profiles([record()]) is None
    assert where_markdown([record()]) == ""
    assert where_terminal([record()], 100) == ""


def test_the_costliest_operators_are_shown_a_step_and_the_trace_is_named() -> None:
    found = profiles([record("control", profile=TRACED)])
    assert found is not None
    assert len(found.rows) == SHOWN
    assert found.rows[0] == ["resnet18, plain (control)", "op0", "20", "100.00", "30%"]
    assert found.rows[1][0] == "", "the cell is named once"
    assert "open cell.trace.json in ui.perfetto.dev" in found.lines[-1]


def test_a_report_of_nsight_systems_is_named_without_rows() -> None:
    found = profiles([record(profile={"report": "cell.nsys-rep", "steps": 4, "top": []})])
    assert found is not None
    assert not found.rows
    assert "open cell.nsys-rep in Nsight Systems" in found.lines[-1]


def test_all_looks_fit_a_terminal_of_80_characters_as_tables() -> None:
    ranks = ATTRIBUTED | {"imbalance": 1.0, "slowest_rank": 0, "copy_s": 0.01, "other_s": 0.01}
    seen = [record("ddp2", attribution=ranks, profile=TRACED)]
    text = where_terminal(seen, 80)
    assert max(map(len, text.splitlines())) <= 80
    rules = [line for line in text.splitlines() if line and set(line) == {"─"}]
    assert len(rules) == 3, "each has a rule below its headings: none fell apart into paragraphs"
    assert where_markdown(seen).count("\n## ") == 2


def test_the_template_of_a_kernel_is_cut() -> None:
    kernel = {"name": "void cutlass::Kernel<" + 40 * "int, ", "calls": 4, "self_s": 0.1}
    found = profiles([record(profile={"trace": "t.json", "steps": 4, "top": [kernel]})])
    assert found is not None
    assert len(found.rows[0][1]) == 60
    assert found.rows[0][1].endswith("…")
