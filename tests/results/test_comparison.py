"""Comparing stored runs: like with like, drift cancels, silence is never a pass."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from results.__main__ import main
from results.comparison import compare, fallen
from results.environments import differences
from results.identity import ComparisonError
from results.record import Record
from results.store import RunFolder
from tests.results.examples import PLAIN, compared, laptop_run, record

MACHINE = {"machine": "abc", "torch": "2.14.1", "variables": {}, "gpus": [], "memory_bytes": 1000}
GAIN = [1.31, 1.29, 1.30, 1.30]


def blocks(samples_per_s: float, starts: int = 4) -> list[dict[str, Any]]:
    return [
        {
            "start": start,
            "pair": 0,
            "arm": arm,
            "steps": 1,
            "samples": 100,
            "seconds": 100 / (samples_per_s * (1 + start / 1000)),
        }
        for start in range(starts)
        for arm in ("baseline", "candidate")
    ]


def stored(root: Path, records: list[Record], environment: dict[str, Any] | None = None) -> str:
    run = RunFolder.create(root, MACHINE if environment is None else environment)
    for each in records:
        run.append(each)
    return str(run.path)


def said(words: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    try:
        code = main(words)
    except SystemExit as stopped:  # argparse's way
        code = int(str(stopped.code))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_drift_of_the_machine_cancels_from_the_ratio_of_speedups() -> None:
    base = compared("a", GAIN, blocks=blocks(100))
    new = compared("a", GAIN, blocks=blocks(25))  # the machine is four times slower today
    change = compare([base], [new], MACHINE, MACHINE).changes[0]
    assert change.speedup is not None
    assert change.speedup.value == pytest.approx(1)
    assert change.verdict == "same"
    assert change.throughput is not None
    assert change.throughput.value == pytest.approx(0.25)
    assert change.throughput.high is not None
    assert change.throughput.high < 0.26


def test_throughput_without_blocks_has_no_interval() -> None:
    found = compare([compared("a", GAIN)], [compared("a", GAIN)], MACHINE, MACHINE).changes[0]
    assert found.throughput is not None
    assert (found.throughput.value, found.throughput.low) == (1, None)


def test_worst_change_comes_first() -> None:
    base = [compared("a", GAIN), compared("b", GAIN)]
    new = [compared("a", GAIN), compared("b", [ratio * 0.8 for ratio in GAIN])]
    found = compare(base, new, MACHINE, MACHINE)
    assert [change.verdict for change in found.changes] == ["slower", "same"]


def test_a_cell_of_the_same_name_but_another_setting_is_another_cell() -> None:
    base = [compared("a", GAIN), compared("b", GAIN)]
    new = [compared("a", GAIN, setting=PLAIN | {"num_workers": 2}), compared("b", GAIN)]
    found = compare(base, new, MACHINE, MACHINE)
    assert [change.cell for change in found.changes] == [base[1].cell]
    assert found.left_out == (f"{base[0].cell}: setting.num_workers 0 → 2",)


def test_order_of_knobs_is_no_difference() -> None:
    turned = dict(reversed(PLAIN.items()))
    found = compare([compared("a", GAIN)], [compared("a", GAIN, setting=turned)], MACHINE, MACHINE)
    assert len(found.changes) == 1


@pytest.mark.parametrize(
    ("base", "new", "message"),
    [
        ([compared("a", GAIN)], [compared("b", GAIN)], "no cell in common"),
        ([compared("a", GAIN)], [compared("a", GAIN, scale="small")], "scale tiny → small"),
        ([], [compared("a", GAIN)], "the base run has no records"),
        (
            [record("a", outcome="skipped", reason="no GPU")],
            [record("a", outcome="skipped", reason="no GPU")],
            "nothing was measured",
        ),
    ],
)
def test_nothing_to_compare_is_an_error(
    base: list[Record],
    new: list[Record],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["compare", stored(tmp_path, base), stored(tmp_path, new), "--fail-above", "5%"]
    code, out, err = said(words, capsys)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert message in err


@pytest.mark.parametrize(
    ("factor", "limit", "code"), [(0.8, "5%", 1), (0.8, "30%", 0), (1.0, "5%", 0), (1.2, "5%", 0)]
)
def test_fail_above(
    factor: float, limit: str, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = stored(tmp_path, [compared("a", GAIN), compared("b", GAIN)])
    new = [compared("a", [ratio * factor for ratio in GAIN]), compared("b", GAIN)]
    found, out, _ = said(["compare", base, stored(tmp_path, new), "--fail-above", limit], capsys)
    assert found == code
    assert ("FAILED" in out) == (code == 1)


def test_a_fall_that_may_be_noise_does_not_fail() -> None:
    noisy = compare(
        [compared("a", [1.5, 1.1, 1.4, 1.2])], [compared("a", [1.0, 1.4, 1.1, 1.3])], {}, {}
    )
    assert fallen(noisy, 0.05) == []


def test_a_gate_that_cannot_tell_anything_is_an_error() -> None:
    single = compare([compared("a", [1.3])], [compared("a", [0.6])], MACHINE, MACHINE)
    assert single.changes[0].verdict == "unclear"
    with pytest.raises(ComparisonError, match="at least 2 starts"):
        fallen(single, 0.05)


def test_a_cell_that_does_not_run_any_more_fails() -> None:
    crashed = record("a", outcome="failed", reason="signal 9")
    found = compare([compared("a", GAIN)], [crashed], MACHINE, MACHINE)
    assert found.broken == (f"{crashed.cell}: failed, signal 9",)
    assert fallen(found, 0.05) == [f"{crashed.cell}: failed, signal 9 (ran in the base run)"]
    skipped = [record("a", outcome="skipped", reason="no GPU"), compared("b", GAIN)]
    elsewhere = compare([compared("a", GAIN), compared("b", GAIN)], skipped, MACHINE, MACHINE)
    assert fallen(elsewhere, 0.05) == []
    assert elsewhere.left_out == (f"{crashed.cell}: skipped in the new run",)


@pytest.mark.parametrize("limit", ["0.05", "5", "five%", "-1%", "100%", "nan%"])
def test_the_limit_is_a_percentage(
    limit: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = stored(tmp_path, laptop_run())
    code, out, err = said(["compare", run, run, f"--fail-above={limit}"], capsys)
    assert (code, out, err.count("\n")) == (2, "", 1)


def test_environments_that_differ_are_listed_and_marked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base, new = ([compared("a|b", GAIN)] for _ in range(2))
    other = MACHINE | {"torch": "2.15.0", "git": {"revision": "f00"}}
    _, out, _ = said(
        ["compare", stored(tmp_path, base), stored(tmp_path, new, other), "--format", "markdown"],
        capsys,
    )
    assert "‡ The environments differ: torch: 2.14.1 → 2.15.0." in out
    assert "throughput (95% interval) ‡" in out
    assert "revision: unknown → f00" in out
    assert r"a\|b" in out
    _, out, _ = said(["compare", *[stored(tmp_path, base)] * 2], capsys)
    assert "‡" not in out


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        ({}, []),
        ({"command": "pytest -k amp", "options": {"budget_s": 3}}, []),
        ({"memory_bytes": 1010}, []),  # a kernel that keeps a little more for itself
        ({"memory_bytes": 2000}, ["memory: 1000 → 2000"]),
        ({"machine": "def"}, ["machine: abc → def"]),
        ({"torch": None}, ["torch: 2.14.1 → unknown"]),
        ({"variables": {"OMP_NUM_THREADS": "1"}}, ["variable OMP_NUM_THREADS: unknown → 1"]),
        ({"options": {"images": "/data"}}, ["images: unknown → /data"]),
        (
            {"gpus": [{"name": "H200", "power_cap_w": 700}]},
            ['GPUs 0: unknown → {"name": "H200", "power_cap_w": 700}'],
        ),
    ],
)
def test_what_matters_of_an_environment(new: dict[str, Any], expected: list[str]) -> None:
    assert differences(MACHINE, MACHINE | new) == expected


def test_one_property_of_one_gpu_is_named_alone() -> None:
    capped = [[{"name": "H200", "power_cap_w": watts}] for watts in (700, 500)]
    assert differences({"gpus": capped[0]}, {"gpus": capped[1]}) == [
        "GPUs 0 power_cap_w: 700 → 500"
    ]
    assert differences({}, MACHINE) == ["environment: unknown for the base"]


def test_json_is_strict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = stored(tmp_path, laptop_run())
    code, out, _ = said(["compare", run, run, "--format", "json"], capsys)
    found = json.loads(out)
    assert code == 0
    assert found["failures"] == []
    assert len(found["changes"]) == 5
    assert {change["speedup"]["value"] for change in found["changes"]} == {1.0}


@pytest.mark.parametrize("width", [40, 70, 100, 160])
def test_no_terminal_loses_a_number(
    width: int,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    cell = compared("a", GAIN, blocks=blocks(100))
    change = compare([cell], [cell], MACHINE, MACHINE).changes[0]
    run = stored(tmp_path, [cell])
    _, out, _ = said(["compare", run, run, "--format", "terminal"], capsys)
    assert max(map(len, out.splitlines())) <= width
    assert out.count("1.300×") == 2
    for found in (change.speedup, change.throughput):
        assert found is not None
        assert f"({found.low:.3f}–{found.high:.3f})" in out


def pytest_benchmark_file(path: Path, medians: dict[str, Any]) -> str:
    entries = [{"fullname": name, "stats": {"median": value}} for name, value in medians.items()]
    path.write_text(json.dumps({"benchmarks": entries}))
    return str(path)


def test_pytest_benchmark_files_of_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = pytest_benchmark_file(tmp_path / "base.json", {"t.py::a": 0.2, "t.py::gone": 1.0})
    new = pytest_benchmark_file(tmp_path / "new.json", {"t.py::a": 0.4, "t.py::nan": math.nan})
    code, out, _ = said(["compare", base, new], capsys)
    assert code == 0
    assert "| t.py::a     |              0.500 |" in out
    assert "without intervals" in out
    assert "t.py::gone: only in the base file" in out
    code, out, err = said(["compare", base, new, "--fail-above", "5%"], capsys)
    assert (code, out) == (2, "")
    assert "no interval" in err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", "is not a file of pytest-benchmark"),
        ("no json", "is not a file of pytest-benchmark"),
        ('{"benchmarks": [{"fullname": "t.py::a"}]}', "is not a file of pytest-benchmark"),
        ('{"benchmarks": []}', "no benchmark with a median is in both"),
    ],
)
def test_files_that_say_nothing_are_errors(
    text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bad.json").write_text(text)
    good = pytest_benchmark_file(tmp_path / "good.json", {"t.py::a": 0.2})
    code, out, err = said(["compare", good, str(tmp_path / "bad.json")], capsys)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err


def test_a_run_and_a_file_do_not_compare(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = pytest_benchmark_file(tmp_path / "base.json", {"t.py::a": 0.2})
    code, _, err = said(["compare", file, stored(tmp_path, laptop_run())], capsys)
    assert code == 2
    assert "two of a kind" in err
