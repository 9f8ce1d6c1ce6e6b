"""Every format shows the same numbers, and no text from outside can break it."""

import csv as standard_csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

from results.flat import ColumnError
from results.publish import write_tables
from results.record import Record
from results.render import as_json, csv, escape, fitting, markdown, terminal
from results.store import RunFolder
from results.table import workload_tables
from tests.results.examples import compared, laptop_run, record

NASTY = (
    "a|b\\|c `code` <img src=x> *bold* _under_ [link](x) ~~gone~~ $x$\n## head & \x1b[31mred\x1b[0m"
)


def cells(line: str) -> list[str]:
    """What a Markdown reader takes a table's line for: split at bare pipes, then unescaped."""
    parts = re.findall(r"((?:\\.|[^|\\])*)\|", line.strip().removeprefix("|"))
    return [unescape(part.strip()) for part in parts]


def unescape(text: str) -> str:
    text = re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", text)
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def table_lines(page: str) -> list[str]:
    return [line for line in page.splitlines() if line.startswith("|")]


def nasty_run() -> list[Record]:
    return [
        compared(NASTY, [1.1, 1.2], notes=[NASTY]),
        record("dp", outcome="failed", reason=NASTY, cell="x"),
    ]


def test_markdown_parses_back_to_the_table() -> None:
    (table,) = workload_tables(laptop_run())
    lines = table_lines(markdown([table]))
    assert cells(lines[0]) == [heading.text for heading in table.headings]
    assert [tuple(cells(line)) for line in lines[2 : 2 + len(table.rows)]] == list(table.rows)


def test_markdown_aligns_numbers_to_the_right() -> None:
    rule = table_lines(markdown(workload_tables(laptop_run())))[1]
    assert [part.strip("-") for part in rule.strip("|").split("|")][:2] == [":", ":"]
    assert rule.split("|")[2].endswith("-:")
    assert rule.split("|")[1].startswith(":-")


def test_nasty_names_and_reasons_come_back_as_text() -> None:
    page = markdown(workload_tables(nasty_run()))
    lines = table_lines(page)
    shown = " ".join(NASTY.replace("\x1b", " ").split())
    assert cells(lines[2])[0] == f"{shown} †"
    assert cells(lines[-1])[1] == shown
    assert {len(cells(line)) for line in lines[:3]} == {8}
    assert "<img" not in page
    assert "\x1b" not in page
    assert sum(line.startswith("#") for line in page.splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("amp_bf16", "amp_bf16"),
        ("_x_", r"\_x\_"),
        ("a|b", r"a\|b"),
        ("a\\|b", r"a\\\|b"),
        ("a\r\nb\u2028c", "a b c"),
        ("<b>&amp;", "&lt;b&gt;&amp;amp;"),
        ("`x`", r"\`x\`"),
        ("safe\u202egnp", "safe gnp"),  # text direction overrides
    ],
)
def test_escape(text: str, expected: str) -> None:
    assert escape(text) == expected


def test_csv_parses_back_with_unknown_values_empty() -> None:
    rows = list(standard_csv.DictReader(io.StringIO(csv([*laptop_run(), *nasty_run()]))))
    assert len(rows) == len(laptop_run()) + 2
    assert float(rows[0]["samples_per_s"]) == laptop_run()[0].samples_per_s
    assert rows[0]["resident_bytes"] == "851443712"
    assert rows[0]["gpu_power_w"] == ""
    assert json.loads(rows[0]["log_ratios"]) == laptop_run()[0].log_ratios
    assert rows[-1]["reason"] == NASTY


def test_json_is_strict_and_keeps_numbers_numbers() -> None:
    def refuse(name: str) -> None:
        raise AssertionError(name)

    rows = json.loads(as_json(laptop_run()), parse_constant=refuse)
    assert rows[0]["resident_bytes"] == 851443712
    assert rows[0]["gpu_power_w"] is None
    assert rows[0]["log_ratios"] == laptop_run()[0].log_ratios
    assert rows[5]["speedup"] is None


def test_csv_and_json_take_a_choice_of_columns() -> None:
    assert csv(laptop_run(), ["technique", "starts"]).splitlines()[:2] == [
        "technique,starts",
        "control,4",
    ]
    assert json.loads(as_json(laptop_run(), ["starts"]))[0] == {"starts": 4}
    for write in (csv, as_json):
        with pytest.raises(ColumnError, match="no column 'strats': did you mean starts"):
            write(laptop_run(), ["strats"])


@pytest.mark.parametrize("width", [60, 80, 100, 140])
def test_terminal_keeps_to_its_width_and_breaks_no_number(width: int) -> None:
    tables = workload_tables(laptop_run())
    text = terminal(tables, width)
    assert max(map(len, text.splitlines())) <= width
    assert "1.23× (1.20–1.27)" in text
    assert "unclear ±8.1%" in text
    assert "\x1b" not in text


def test_a_wide_terminal_shows_every_column_and_a_narrow_one_says_which_it_leaves_out() -> None:
    (table,) = workload_tables(laptop_run())
    assert fitting(table, 140) == list(range(len(table.headings)))
    assert "too narrow" not in terminal([table], 140)
    kept = [table.headings[place].key for place in fitting(table, 60)]
    assert kept == ["technique", "samples_per_s", "speedup", "verdict"]
    said = " ".join(terminal([table], 60).split())
    assert "not shown, the window is too narrow: step, median (ms), step, p90 (ms), CPU" in said


def test_terminal_colours_verdicts_only_where_asked_to() -> None:
    coloured = terminal(workload_tables(laptop_run()), 140, colour=True)
    assert "\x1b[32mfaster" in coloured
    assert "\x1b[31mslower" in coloured


def test_terminal_takes_nothing_in_a_name_for_an_instruction() -> None:
    text = terminal(
        workload_tables([compared("[red]x[/red] :smile: \x1b[2J", [1.1, 1.2])]), 140, colour=True
    )
    assert "[red]x[/red] :smile:" in text
    assert "\x1b[2J" not in text


def test_a_finished_run_leaves_its_page_and_its_csv(tmp_path: Path) -> None:
    environment: dict[str, Any] = {
        "command": "pytest benchmarks -k 'a|b'",
        "torch": "2.9.0",
        "cuda": None,
        "cpu": {"model": "EPYC <7713>", "usable_cores": 2},
        "git": {"revision": "abcdef0123456789", "dirty": True},
        "gpus": [],
        "memory_bytes": 24 * 2**30,
    }
    run = RunFolder.create(tmp_path, environment)
    for given in laptop_run():
        run.append(given)
    write_tables(run)
    page = run.table_markdown_path.read_text()
    assert page.startswith("# Training speed on EPYC &lt;7713&gt; (2 usable cores)\n")
    assert r"- command: pytest benchmarks -k 'a\|b'" in page
    assert "- memory: 24.0 GiB" in page
    assert "- software: torch 2.9.0\n" in page
    assert "- revision: abcdef012345 with uncommitted changes" in page
    assert markdown(workload_tables(laptop_run())) in page
    assert "dp needs 2 GPUs, found 0" in page
    assert "9 cells: 5 ok, 2 skipped, 1 failed, 1 timed out." in page
    assert run.table_csv_path.read_text() == csv(laptop_run())


def test_a_page_names_the_gpus_and_does_without_an_environment(tmp_path: Path) -> None:
    gpus = [{"name": "NVIDIA H200"}, {"name": "NVIDIA H200"}, {"name": "NVIDIA T4"}]
    run = RunFolder.create(tmp_path, {"gpus": gpus})
    write_tables(run)
    assert "on 2× NVIDIA H200, 1× NVIDIA T4\n" in run.table_markdown_path.read_text()
    run.environment_path.unlink()
    write_tables(run)
    assert "No cell was measured." in run.table_markdown_path.read_text()
