"""The glance needs no torch and makes no noise; the probe's answer survives JSON."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.hardware import (
    DEVICE_TYPES,
    Gpu,
    Hardware,
    HardwareError,
    driver_uuid,
    glance,
    probe_in_child,
)
from benchmarks.telemetry.cpu import known_flags, memory_limit_bytes, quota_cores, usable_cores
from benchmarks.telemetry.visible import count_visible
from tests.benchmarks.nvml_stand_in import FIRST, MIG, ROOT, SECOND, play

GLANCE = """
from benchmarks.hardware import glance
seen = glance()
answer = [seen.devices["cuda"], seen.reasons.get("cuda")]
"""


def a_machine() -> Hardware:
    """A made-up server with one GPU."""
    return Hardware(
        torch="2.9.0",
        python="3.12.1",
        devices={"cpu": 1, "cuda": 1, "mps": 0, "xpu": 0},
        gpus=(
            Gpu(
                device="cuda",
                index=0,
                name="NVIDIA H200",
                uuid=FIRST,
                capability=(9, 0),
                memory_bytes=150 << 30,
                bf16=True,
            ),
        ),
        accelerator="cuda",
        accelerator_reason=None,
        usable_cores=3,
        affinity_cores=8,
        cgroup_cores=3.5,
        cpu_model="A CPU",
        cpu_isa=("avx2",),
        memory_bytes=(64 << 30) - 700_000_000,
        cgroup_memory_bytes=None,
        compilers={"g++": "/usr/bin/g++"},
        torch_facts={"cuda": "13.0", "cudnn": 91002, "tf32_matmul": False},
    )


def test_hardware_survives_json() -> None:
    machine = a_machine()
    assert Hardware.from_json(machine.to_json()) == machine


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"gpus": [{}]}'])
def test_another_text_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(HardwareError, match="not a hardware description") as caught:
        Hardware.from_json(text)
    assert "\n" not in str(caught.value)


def test_the_probe_runs_in_a_child_and_agrees_with_this_machine() -> None:
    machine = probe_in_child()
    assert machine.devices["cpu"] == 1
    assert set(DEVICE_TYPES) <= set(machine.devices)
    assert machine.usable_cores == glance().usable_cores
    assert (machine.accelerator is None) == (machine.accelerator_reason is not None)
    assert len(machine.gpus) == machine.devices["cuda"] + machine.devices["xpu"]
    assert machine.torch_facts["num_threads"] >= 1


def test_a_child_that_fails_is_quoted_by_its_last_line(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho first >&2\necho \"No module named 'torch'\" >&2\nexit 1\n")
    python.chmod(0o755)
    with pytest.raises(HardwareError, match=r"exit code 1: No module named 'torch'$"):
        probe_in_child(str(python))


def test_a_child_that_hangs_or_is_missing_is_one_line(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nexec sleep 60\n")
    python.chmod(0o755)
    with pytest.raises(HardwareError, match=r"took over 0\.2 s"):
        probe_in_child(str(python), timeout_s=0.2)
    with pytest.raises(HardwareError, match="cannot be started"):
        probe_in_child(str(tmp_path / "absent"))


def test_a_glance_imports_no_torch_and_says_nothing() -> None:
    code = (
        "import sys; from benchmarks.hardware import glance; seen = glance(); "
        "assert seen.usable_cores >= 1 and seen.devices['cpu'] == 1; "
        "assert not {'torch', 'numpy'} & set(sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout + done.stderr == ""


@pytest.mark.parametrize(
    ("setting", "count"),
    [("0,1", 2), ("1", 1), ("", 0), ("-1", 0), (SECOND, 1), ("GPU-aaaa,GPU-bbbb", 2)],
)
def test_a_glance_counts_the_gpus_that_the_variable_leaves(setting: str, count: int) -> None:
    found, reason = play("two", GLANCE, CUDA_VISIBLE_DEVICES=setting)
    assert found == count
    assert (reason is None) == (count > 0)


def test_a_glance_without_the_variable_counts_all() -> None:
    assert play("two", GLANCE) == [2, None]


def test_a_glance_finds_a_mig_instance_by_name() -> None:
    assert play("mig", GLANCE, CUDA_VISIBLE_DEVICES=MIG) == [1, None]


def test_a_glance_says_that_the_driver_is_not_loaded() -> None:
    assert play("no_driver", GLANCE) == [0, "the NVIDIA driver is not loaded"]


@pytest.mark.parametrize(
    ("setting", "count"),
    [
        (None, 2),
        ("1,0", 2),
        ("0,7,1", 1),  # the list ends at what does not exist
        ("0,-1,1", 1),
        ("0,0", 0),  # named twice
        ("0, 1", 2),
        ("NoDevFiles", 0),
        (f"{SECOND},{FIRST}", 2),
        ("GPU-", 0),  # ambiguous
        ("0," + FIRST, 0),  # the same GPU by two names
        (f"{MIG},0", 1),
        ("MIG-ffff", 0),
    ],
)
def test_visible_devices_follow_cudas_rules(setting: str | None, count: int) -> None:
    assert count_visible(setting, (FIRST, SECOND), (MIG,)) == count


def test_torchs_uuid_gets_the_drivers_beginning() -> None:
    assert driver_uuid("aa-1", "NVIDIA H200") == "GPU-aa-1"
    assert driver_uuid("aa-1", "NVIDIA A100-SXM4-40GB MIG 1g.5gb") == "MIG-aa-1"
    assert driver_uuid("GPU-aa-1", "NVIDIA H200") == "GPU-aa-1"


def fake_files(files: dict[str, str]) -> object:
    """A reader of these files only."""

    def read(path: str) -> str:
        if path not in files:
            raise FileNotFoundError(path)
        return files[path]

    return read


V2 = {"/proc/self/cgroup": "0::/slice/job\n"}
V1 = {"/proc/self/cgroup": "4:memory:/docker/x\n3:cpu,cpuacct:/docker/x\n0::/\n"}


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({}, None),
        ({**V2, "/sys/fs/cgroup/slice/job/cpu.max": "max 100000"}, None),
        ({**V2, "/sys/fs/cgroup/slice/job/cpu.max": "250000 100000"}, 2.5),
        (  # a parent's limit binds as well
            {
                **V2,
                "/sys/fs/cgroup/slice/job/cpu.max": "400000 100000",
                "/sys/fs/cgroup/slice/cpu.max": "150000 100000",
            },
            1.5,
        ),
        ({**V2, "/sys/fs/cgroup/cpu.max": "50000 100000"}, 0.5),  # the container's own root
        (
            {
                **V1,
                "/sys/fs/cgroup/cpu/cpu.cfs_quota_us": "300000\n",
                "/sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
            },
            3.0,
        ),
        (
            {
                **V1,
                "/sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.cfs_quota_us": "-1\n",
                "/sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.cfs_period_us": "100000\n",
            },
            None,
        ),
    ],
)
def test_cgroup_quota_of_either_version(files: dict[str, str], cores: float | None) -> None:
    assert quota_cores(fake_files(files)) == cores  # type: ignore[arg-type]


def test_cgroup_memory_limit_of_either_version() -> None:
    unlimited = {**V1, "/sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712"}
    limited = {**V2, "/sys/fs/cgroup/slice/job/memory.max": "2147483648\n"}
    assert memory_limit_bytes(fake_files(unlimited)) is None  # type: ignore[arg-type]
    assert memory_limit_bytes(fake_files(limited)) == 2 << 30  # type: ignore[arg-type]


def test_usable_cores_are_whole_and_at_least_one() -> None:
    assert usable_cores(8, None) == 8
    assert usable_cores(8, 2.9) == 2
    assert usable_cores(2, 16.0) == 2
    assert usable_cores(8, 0.5) == 1


def test_isa_flags_keep_what_matters_in_a_fixed_order() -> None:
    assert known_flags(["amx_bf16", "fpu", "avx2", "avx512_bf16"]) == (
        "avx2",
        "avx512_bf16",
        "amx_bf16",
    )


def test_a_machine_as_json_is_strict() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        replace(a_machine(), cgroup_cores=float("inf")).to_json()
    assert json.loads(a_machine().to_json())["gpus"][0]["capability"] == [9, 0]
