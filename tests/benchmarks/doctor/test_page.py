"""The whole visit: to this machine as it is, and what pages and exit codes promise."""

import subprocess
import sys
from dataclasses import replace
from importlib import metadata

import pytest

from benchmarks.doctor.checks import CHECKS, diagnose
from benchmarks.doctor.facts import SharedMemory
from benchmarks.doctor.finding import Finding, Level
from benchmarks.doctor.page import page
from tests.benchmarks.doctor.machines import a_gpu, a_server, some_hardware
from tests.benchmarks.nvml_stand_in import ROOT


def test_this_machine_is_described_with_its_real_torch() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "doctor"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert f"\ntorch        {metadata.version('torch')}" in done.stdout
    to_mend, works = "\nTo mend: " in done.stdout, "\nTraining works here" in done.stdout
    assert (to_mend, works, done.returncode) in [(True, False, 1), (False, True, 0)]


def test_nothing_is_found_on_a_healthy_server() -> None:
    server = a_server()
    assert [check for check in CHECKS if check(server)] == []
    assert page(server, []).endswith("\nTraining works here, on the GPU (cuda). Warnings: 0.\n")


def test_what_must_be_mended_comes_first_and_findings_are_numbered() -> None:
    server = a_server()
    spoilt = replace(
        server,
        host=replace(server.host, cxx=None, shared_memory=None),
        torch=replace(server.torch, torchvision=None, torchvision_reason="not installed"),
    )
    findings = diagnose(spoilt)
    assert [finding.level for finding in findings] == [Level.MEND, Level.MEND, Level.WARN]
    text = page(spoilt, findings)
    assert "\n3. warning: torch.compile has no C++ compiler\n   evidence: " in text
    assert text.endswith("\nTo mend: 2. Warnings: 1.\n")


def test_a_second_gpu_without_kernels_is_a_warning_while_the_first_trains() -> None:
    server = a_server()
    both = some_hardware(a_gpu(), a_gpu((7, 0), "Tesla V100"))
    mixed = replace(server, torch=replace(server.torch, hardware=both, peer_pairs=((0, 1),)))
    assert [(finding.level, "V100" in finding.what) for finding in diagnose(mixed)] == [
        (Level.WARN, True)
    ]


def test_triton_and_headers_are_asked_for_where_compile_needs_them() -> None:
    server = a_server()
    bare = replace(some_hardware(a_gpu()), compilers={})
    spoilt = replace(
        server,
        torch=replace(server.torch, hardware=bare),
        host=replace(server.host, python_headers=False),
    )
    assert [finding.what for finding in diagnose(spoilt)] == [
        "torch.compile has no Triton for the GPU",
        "torch.compile has no Python headers",
    ]


def test_a_small_size_is_printed_in_mib() -> None:
    server = a_server()
    small = SharedMemory(total_bytes=64 << 20, free_bytes=63 << 20, writable=True)
    text = page(replace(server, host=replace(server.host, shared_memory=small)), [])
    assert "\n/dev/shm     63 MiB free of 64 MiB\n" in text


@pytest.mark.parametrize("level", list(Level))
def test_a_page_is_plain_text_of_one_line_a_fact(level: Level) -> None:
    text = page(a_server(), [Finding(level, "what", "why", "do this")])
    assert text.isascii()
    facts, finding, _ = text.split("\n\n")
    assert all(line[12] == " " and line[13] != " " for line in facts.splitlines())
    assert finding == f"1. {level.value}: what\n   evidence: why\n   what to do: do this"
