"""No torch, a broken one, one for the CPU only, or packages that do not fit each other."""

import os
import signal
import subprocess
import sys
import venv
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.doctor import packages
from benchmarks.doctor.checks import installed
from tests.benchmarks.doctor.machines import a_server
from tests.benchmarks.doctor.visit import a_root, visit

ROOT = Path(__file__).parents[3]


@pytest.fixture
def bare_python(tmp_path: Path) -> str:
    """This interpreter without any third-party package."""
    script = tmp_path / "python"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')
    script.chmod(0o755)
    return str(script)


def test_without_torch_and_all_other_packages_the_page_still_comes(
    tmp_path: Path, bare_python: str
) -> None:
    hide = "sys.path = [p for p in sys.path if 'site-packages' not in p]"
    seen = visit(a_root(tmp_path / "root"), before=hide, python=bare_python, PYTHONPATH="")
    assert seen.code == 1
    assert "finds no module torch" in seen.finding("PyTorch is not installed")
    assert "psutil (missing)" in seen.finding("packages that the suite needs")
    assert "nvidia-ml-py" in seen.finding("packages that the suite needs").splitlines()[2]
    assert "\nCPU  " in seen.page
    assert "\ncores  " in seen.page


def test_the_command_runs_in_an_interpreter_without_any_package(tmp_path: Path) -> None:
    venv.create(tmp_path, with_pip=False)
    python = tmp_path / ("Scripts" if os.name == "nt" else "bin") / "python"
    command = [str(python), "-m", "benchmarks", "doctor"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "mend: PyTorch is not installed" in done.stdout
    assert "python3 -m pip install nox && python3 -m nox -s bench" in done.stdout
    assert done.stderr == ""


def test_a_torch_that_cannot_load_its_libraries_is_quoted(tmp_path: Path) -> None:
    seen = visit(a_root(tmp_path), {"raises": "libcudart.so.13: cannot open shared object file"})
    assert seen.code == 1
    assert "libcudart.so.13" in seen.finding("cannot be imported")


def test_a_torch_that_kills_its_process_is_a_finding(tmp_path: Path) -> None:
    seen = visit(a_root(tmp_path), {"dies": signal.SIGILL})
    assert seen.code == 1
    assert f"signal {signal.SIGILL.value}" in seen.finding("cannot be imported")


def test_a_cpu_only_wheel_beside_a_gpu_is_to_be_mended(tmp_path: Path) -> None:
    torch = {"version": "2.14.1+cpu", "cuda": None, "arch_list": "", "nccl": None}
    seen = visit(a_root(tmp_path), torch, scenario="two")
    finding = seen.finding("mend: this PyTorch is built for the CPU only")
    assert "NVIDIA GPUs here: 2" in finding
    assert "pytorch.org/get-started" in finding
    assert seen.code == 1


def test_a_cpu_only_wheel_without_a_gpu_is_as_it_should_be(tmp_path: Path) -> None:
    torch = {"version": "2.14.1+cpu", "cuda": None, "arch_list": "", "nccl": None}
    seen = visit(a_root(tmp_path), torch)
    assert (seen.headings, seen.code) == ([], 0)
    assert "Training works here, on the CPU." in seen.page


def test_a_torchvision_built_for_another_torch_is_quoted(tmp_path: Path) -> None:
    seen = visit(
        a_root(tmp_path), {"torchvision_raises": "operator torchvision::nms does not exist"}
    )
    finding = seen.finding("torchvision does not work with torch 2.14.1+cu130")
    assert "torchvision::nms" in finding
    assert "torch 2.14 goes with torchvision 0.29" in finding
    assert seen.code == 1


def test_a_torchvision_of_another_release_that_imports_is_a_warning(tmp_path: Path) -> None:
    seen = visit(a_root(tmp_path), {"torchvision": "0.24.0"})
    assert "0.24.0 is installed" in seen.finding("warning: torch and torchvision")
    assert seen.code == 0


def test_a_package_that_is_too_old_is_named_with_what_is_needed(tmp_path: Path) -> None:
    project = tmp_path / "pyproject.toml"
    project.write_text('[project]\ndependencies = ["pytest>=999.1", "rich", "absent-package>=1"]\n')
    asked = packages.look(sys.executable, project)
    assert asked.required == {"pytest": "999.1", "rich": "0", "absent-package": "1"}
    assert asked.installed["pytest"] == pytest.__version__
    finding = installed.packages_missing(replace(a_server(), packages=asked))
    assert finding is not None
    evidence = f"pytest ({pytest.__version__}, needs 999.1), absent-package (missing)"
    assert finding.evidence == evidence


def test_a_torch_whose_devices_cannot_be_asked_is_not_called_healthy() -> None:
    server = a_server()
    mute = replace(server.torch, hardware=None, hardware_reason="AttributeError: no xpu")
    finding = installed.devices_not_asked(replace(server, torch=mute))
    assert finding is not None
    assert finding.evidence == "AttributeError: no xpu"
