"""environment.json is strict, complete, holds no secret; a machine keeps its name over reboots."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.environment import (
    ALLOCATOR_VARIABLES,
    OTHER_VARIABLES,
    chosen_variables,
    command_line,
    describe,
    git_revision,
    machine_identity,
)
from tests.benchmarks.nvml_stand_in import SECOND, play
from tests.benchmarks.test_hardware import a_machine


def test_the_description_is_strict_json_with_null_for_unknown() -> None:
    options = {"scale": "tiny", "budget_s": float("inf"), "images": Path("data")}
    described = describe(a_machine(), options)
    assert json.loads(json.dumps(described, allow_nan=False)) == described
    assert described["options"] == {"scale": "tiny", "budget_s": None, "images": "data"}
    assert described["cuda"] == "13.0"
    assert described["nccl"] is None
    assert described["torch_settings"]["tf32_matmul"] is False
    assert described["cpu"]["cgroup_cores"] == 3.5
    assert described["gpus"][0]["capability"] == "9.0"


@pytest.mark.parametrize(
    ("argv", "orig_argv", "shown"),
    [
        (
            ["/a/.venv/bin/pytest", "benchmarks", "-k", "a or b"],
            ["/a/.venv/bin/python", "/a/.venv/bin/pytest", "benchmarks", "-k", "a or b"],
            "pytest benchmarks -k 'a or b'",
        ),
        (
            ["/a/site-packages/pytest/__main__.py", "benchmarks"],
            ["/a/.venv/bin/python", "-X", "dev", "-m", "pytest", "benchmarks"],
            "python -X dev -m pytest benchmarks",
        ),
        (["/a/x/__main__.py"], ["python3", "/a/x"], "__main__.py"),
    ],
)
def test_the_command_can_be_typed_again(
    argv: list[str], orig_argv: list[str], shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", argv)
    monkeypatch.setattr(sys, "orig_argv", orig_argv)
    assert command_line() == shown


def test_power_cap_and_driver_come_from_the_gpu_of_that_uuid() -> None:
    code = """
from dataclasses import replace
from tests.benchmarks.test_hardware import a_machine
from benchmarks.environment import describe
machine = a_machine()
machine = replace(machine, gpus=(replace(machine.gpus[0], uuid=SECOND),))
described = describe(machine, {})
answer = [described["driver"], described["gpus"][0]["uuid"], described["gpus"][0]["power_cap_w"]]
"""
    assert play("two", code) == ["580.65.06", SECOND, 350.0]


def test_a_machine_keeps_its_name_when_the_kernel_keeps_more_memory() -> None:
    machine = a_machine()
    rebooted = replace(machine, memory_bytes=machine.memory_bytes - (30 << 20))
    upgraded = replace(machine, torch="2.10.0", torch_facts={})
    assert machine_identity(machine) == machine_identity(rebooted) == machine_identity(upgraded)


@pytest.mark.parametrize(
    "change", [{"cpu_model": "B"}, {"usable_cores": 2}, {"memory_bytes": 32 << 30}, {"gpus": ()}]
)
def test_other_hardware_is_another_machine(change: dict[str, object]) -> None:
    assert machine_identity(replace(a_machine(), **change)) != machine_identity(a_machine())  # type: ignore[arg-type]


def test_variables_are_chosen_by_name_and_secrets_left_out() -> None:
    environ = {
        "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True",
        "PYTORCH_ALLOC_CONF": "x",
        "MALLOC_ARENA_MAX": "2",
        "LD_PRELOAD": "libjemalloc.so",
        "OMP_NUM_THREADS": "4",
        "TORCH_API_TOKEN": "abc",
        "HOME": "/home/x",
    }
    assert list(chosen_variables(environ, ALLOCATOR_VARIABLES)) == [
        "LD_PRELOAD",
        "MALLOC_ARENA_MAX",
        "PYTORCH_ALLOC_CONF",
        "PYTORCH_CUDA_ALLOC_CONF",
    ]
    assert chosen_variables(environ, OTHER_VARIABLES) == {"OMP_NUM_THREADS": "4"}


def test_a_checkout_says_its_revision_and_whether_it_is_dirty(tmp_path: Path) -> None:
    assert git_revision(tmp_path) == {"revision": None, "dirty": None}

    def git(*arguments: str) -> None:
        identity = ("-c", "user.name=A", "-c", "user.email=a@example.org")
        subprocess.run(["git", *identity, *arguments], cwd=tmp_path, check=True, timeout=30)

    git("init", "-q")
    (tmp_path / "file").write_text("1")
    git("add", "file")
    git("commit", "-q", "-m", "first")
    clean = git_revision(tmp_path)
    assert len(clean["revision"]) == 40
    assert clean["dirty"] is False
    (tmp_path / "file").write_text("2")
    assert git_revision(tmp_path) == {**clean, "dirty": True}
