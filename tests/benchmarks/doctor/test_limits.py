"""Shared memory, file handles, clocks, compilers: real limits in a child, or files that say so."""

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.doctor.checks import limits
from benchmarks.doctor.host import open_files, shared_memory
from tests.benchmarks.doctor.machines import a_server
from tests.benchmarks.doctor.visit import H200, a_root, visit, write
from tests.benchmarks.nvml_stand_in import ROOT

CPU_0 = "sys/devices/system/cpu/cpu0"
CPU_BUILD = {"version": "2.14.1+cpu", "cuda": None, "arch_list": "", "nccl": None}


def on_tmpfs(folder: Path, options: str) -> list[str]:
    """Evidence of both checks of shared memory, with `folder` a real tmpfs of its own."""
    code = (
        "import sys; from pathlib import Path; from dataclasses import replace\n"
        "from benchmarks.doctor.checks import limits\n"
        "from benchmarks.doctor.host import shared_memory\n"
        "from tests.benchmarks.doctor.machines import a_server\n"
        "server = a_server(); found = shared_memory(Path(sys.argv[1]))\n"
        "spoilt = replace(server, host=replace(server.host, shared_memory=found))\n"
        "for check in (limits.no_shared_memory, limits.little_shared_memory):\n"
        "    print(getattr(check(spoilt), 'evidence', 'fine'))"
    )
    script = f'mount -t tmpfs -o {options} tmpfs "$1" || exit 77; exec "$2" -c "$3" "$1"'
    unshare = shutil.which("unshare")
    if unshare is None:
        pytest.skip("needs unshare, to mount without being root")
    done = subprocess.run(
        [unshare, "-rm", "sh", "-c", script, "sh", str(folder), sys.executable, code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode in (1, 77) and "Traceback" not in done.stderr:
        pytest.skip(f"this system does not let users mount: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_containers_usual_64_mib_are_too_little_for_workers(tmp_path: Path) -> None:
    fine, evidence = on_tmpfs(tmp_path, "size=64m")
    assert fine == "fine"
    assert evidence.startswith("64 MiB free of 64 MiB; 8 workers (one a core)")


def test_a_large_tmpfs_is_enough(tmp_path: Path) -> None:
    assert on_tmpfs(tmp_path, "size=4g") == ["fine", "fine"]


def test_a_read_only_shared_memory_stops_workers(tmp_path: Path) -> None:
    assert on_tmpfs(tmp_path, "ro") == ["/dev/shm is read-only", "fine"]


def test_no_shared_memory_is_to_be_mended(tmp_path: Path) -> None:
    seen = visit(tmp_path, CPU_BUILD)
    assert "does not exist" in seen.finding("mend: there is no shared memory")
    assert seen.code == 1


def test_the_more_cores_the_more_shared_memory_and_handles_are_needed() -> None:
    server = a_server()
    memory = replace(server.host.shared_memory, free_bytes=1 << 30)  # type: ignore[type-var]
    few = replace(server.host, shared_memory=memory, open_files=(1024, 1024), usable_cores=8)
    many = replace(few, usable_cores=96)
    for check in (limits.little_shared_memory, limits.few_file_handles):
        assert check(replace(server, host=few)) is None
        assert check(replace(server, host=many)) is not None


@pytest.mark.parametrize(
    ("hard", "advice"), [(4096, "`ulimit -n 4096` in this shell"), (100, "raise the hard limit")]
)
def test_few_file_handles(tmp_path: Path, hard: int, advice: str) -> None:
    limit = f"import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (100, {hard}))"
    seen = visit(a_root(tmp_path), CPU_BUILD, before=limit)
    finding = seen.finding("warning: few file handles")
    assert f"the limit is 100 (hard limit {hard})" in finding
    assert advice in finding
    assert seen.code == 0


def test_a_governor_that_keeps_clocks_low(tmp_path: Path) -> None:
    root = a_root(tmp_path)
    write(root, f"{CPU_0}/cpufreq/scaling_governor", "powersave\n")
    write(root, f"{CPU_0}/cpufreq/scaling_driver", "acpi-cpufreq\n")
    seen = visit(root, CPU_BUILD)
    assert "cpupower" in seen.finding("warning: the CPU's frequency governor is powersave")
    assert seen.code == 0
    write(root, f"{CPU_0}/cpufreq/scaling_driver", "intel_pstate\n")  # there it is the dynamic one
    assert visit(root, CPU_BUILD).headings == []


def test_a_cpu_that_throttles_while_torch_is_imported(tmp_path: Path) -> None:
    root = a_root(tmp_path)
    counter = f"{CPU_0}/thermal_throttle/core_throttle_count"
    write(root, counter, "7\n")
    assert visit(root, CPU_BUILD).headings == []  # that was some time since boot
    seen = visit(root, {**CPU_BUILD, "heats": str(root / counter)})
    assert "rose by 5" in seen.finding("warning: the CPU is throttling")


def test_a_gpu_that_is_held_down(tmp_path: Path) -> None:
    root = a_root(tmp_path)
    seen = visit(root, {"gpus": [H200]}, scenario="throttled")
    finding = seen.finding("warning: a GPU's clocks are held down")
    assert "power cap, thermal (hardware)" in finding
    assert seen.code == 0


def test_no_compiler_for_torch_compile(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    path = str(tmp_path / "empty")
    seen = visit(a_root(tmp_path / "root"), {"gpus": [H200]}, scenario="two", PATH=path)
    assert seen.headings == [
        "warning: torch.compile has no C++ compiler",
        "warning: Triton, which torch.compile uses on the GPU, has no C compiler",
    ]
    assert "compilers    C++ none, C none" in seen.page
    assert seen.code == 0


def test_a_compiler_that_the_variable_names_is_taken(tmp_path: Path) -> None:
    compiler = tmp_path / "my-c++"
    compiler.write_text("#!/bin/sh\n")
    compiler.chmod(0o755)
    seen = visit(a_root(tmp_path / "root"), CPU_BUILD, CXX=f"{compiler} -O2")
    assert f"C++ {compiler}," in seen.page
    absent = visit(a_root(tmp_path / "other"), CPU_BUILD, CXX=str(tmp_path / "absent"))
    assert absent.finding("no C++ compiler")


def test_limits_are_read_as_the_system_has_them(tmp_path: Path) -> None:
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert open_files() is not None
    assert open_files() == (soft if soft >= 0 else 1 << 30, hard if hard >= 0 else 1 << 30)
    space = shared_memory(tmp_path)
    assert space is not None
    assert space.total_bytes == shutil.disk_usage(tmp_path).total
    assert shared_memory(tmp_path / "absent") is None
