"""The gate's answer reads the same to a person, to GitHub and to a program."""

import json
import math
from pathlib import Path

import pytest

from results import gate_table
from results.gate import Evidence, Result, Rules, judge
from results.gate_evidence import evidence
from results.job_summary import LARGEST_BYTES, append_job_summary
from results.store import StoreError
from tests.results.examples import compared, record

SLOW = [math.log(ratio) for ratio in (0.90, 0.91, 0.89, 0.90)]
STEADY = [0.001, -0.002, 0.002, -0.001]


@pytest.fixture
def result() -> Result:
    seen = [
        Evidence(cell="control", screening=STEADY, confirmation=STEADY, control=True),
        Evidence(cell="fine", screening=STEADY, losses=[7.0], old_losses=[7.0]),
        Evidence(cell="slow|<b>", screening=SLOW, confirmation=SLOW),
        Evidence(cell="gone", unmeasured="skipped: needs\n2 GPUs"),
    ]
    return judge(seen, Rules())


def test_page_names_the_guilty_first_and_the_controls_last(result: Result) -> None:
    page = gate_table.markdown(result)
    rows = [line for line in page.splitlines() if line.startswith("|")][2:]
    assert page.startswith("## Regression\n")
    assert rows[0].startswith(r"| slow\|&lt;b&gt; ")
    assert "0.900 (0.887–0.913)" in rows[0]
    assert "regressed" in rows[0]
    assert "4 fresh" in rows[0]
    assert rows[-1].startswith("| control (control)")
    assert r"- slow\|&lt;b&gt;: slower than 0.97×" in page


def test_terminal_keeps_words_whole_and_fits(result: Result) -> None:
    said = gate_table.terminal(result, 90)
    assert "regressed" in said
    assert "(0.887–0.913)" in said
    assert max(map(len, said.splitlines())) <= 90


def test_json_is_strict_and_complete(result: Result) -> None:
    found = json.loads(gate_table.as_json(result))
    assert (found["outcome"], found["exit_code"]) == ("regression", 1)
    assert [each["cell"] for each in found["findings"]] == ["control", "fine", "slow|<b>", "gone"]
    assert found["findings"][1]["losses"]["ok"] is True
    assert found["rules"]["margin"] == 0.03


def test_evidence_comes_from_the_records_of_both_stages() -> None:
    screened = compared("a", [0.90, 0.91], losses=[7.0], baseline_losses=[7.1])
    confirmed = compared(
        "a", [0.92, 0.93, 0.92], peak_memory_bytes=10, baseline_peak_memory_bytes=9
    )
    found = evidence(screened, confirmed)
    assert found.cell == "test_matrix[resnet18-cpu-a]"
    assert found.screening == screened.log_ratios
    assert found.confirmation == confirmed.log_ratios
    assert (found.peak_memory_bytes, found.old_peak_memory_bytes) == (10, 9)
    assert not found.resident_memory
    assert found.unmeasured is None
    with pytest.raises(ValueError, match="two cells"):
        evidence(screened, compared("b", [1.0, 1.0]))


def test_without_allocated_memory_the_processes_memory_is_compared() -> None:
    """A CPU: what torch's allocator tells of a GPU, the process tree's resident memory must do."""
    telemetry = {"candidate": {"resident_bytes": 300}, "baseline": {"resident_bytes": 200}}
    on_cpu = evidence(compared("control", [1.0, 1.0], telemetry=telemetry))
    assert (on_cpu.peak_memory_bytes, on_cpu.old_peak_memory_bytes) == (300, 200)
    assert on_cpu.resident_memory
    known = {"peak_memory_bytes": 30, "baseline_peak_memory_bytes": 20}
    on_gpu = evidence(compared("control", [1.0, 1.0], telemetry=telemetry, **known))
    assert (on_gpu.peak_memory_bytes, on_gpu.old_peak_memory_bytes) == (30, 20)
    assert not on_gpu.resident_memory
    unknown = evidence(compared("control", [1.0, 1.0]))
    assert unknown.peak_memory_bytes is None


def test_a_cell_that_was_found_invalid_has_no_ratios() -> None:
    invalid = compared("a", [0.9, 0.9], outcome="invalid", reason="bf16 never used", verdict=None)
    assert evidence(invalid).screening == ()
    assert evidence(invalid).unmeasured == "invalid: bf16 never used"
    assert evidence(invalid, broken="raises").unmeasured is None
    failed = record("a", outcome="failed", reason="signal 9")
    lost = evidence(compared("a", [0.9, 0.9]), failed)
    assert lost.unmeasured == "failed: signal 9"


def test_job_summary_is_appended_where_github_asks(tmp_path: Path, result: Result) -> None:
    page = tmp_path / "summary.md"
    page.write_text("before\n")
    environ = {"GITHUB_STEP_SUMMARY": str(page)}
    assert append_job_summary(gate_table.markdown(result), environ)
    assert append_job_summary("second", environ)
    written = page.read_text(encoding="utf-8")
    assert written.startswith("before\n## Regression\n")
    assert written.endswith("\n\nsecond\n\n")


@pytest.mark.parametrize("environ", [{}, {"GITHUB_STEP_SUMMARY": ""}])
def test_outside_of_github_nothing_is_written(environ: dict[str, str]) -> None:
    assert not append_job_summary("text", environ)


def test_a_summary_that_is_too_large_is_cut_and_says_so(tmp_path: Path) -> None:
    page = tmp_path / "summary.md"
    assert append_job_summary("× line\n" * 200_000, {"GITHUB_STEP_SUMMARY": str(page)})
    written = page.read_bytes()
    assert len(written) <= LARGEST_BYTES
    assert written.decode().endswith("× line\n\n(cut: the rest is in the artefacts of the job)\n")
    assert append_job_summary("more", {"GITHUB_STEP_SUMMARY": str(page)})
    assert page.stat().st_size <= LARGEST_BYTES


def test_a_summary_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="job summary") as raised:
        append_job_summary("text", {"GITHUB_STEP_SUMMARY": str(tmp_path)})
    assert "\n" not in str(raised.value)
