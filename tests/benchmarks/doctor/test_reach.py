"""A GPU that does not reach this process: no driver, no node, no permission, no container flag."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.benchmarks.doctor.visit import a_root, load_module, put_gpu_on_bus, visit
from tests.benchmarks.nvml_stand_in import play

NODES = ("dev/nvidia0", "dev/nvidiactl", "dev/nvidia-uvm")


@pytest.mark.parametrize(
    ("mark", "advice"),
    [(".dockerenv", "--gpus all"), ("run/.containerenv", "--device nvidia.com/gpu=all")],
)
def test_a_container_started_without_gpus_is_told_from_a_machine_without(
    tmp_path: Path, mark: str, advice: str
) -> None:
    root = a_root(tmp_path, mark)
    load_module(root)
    seen = visit(root)
    assert advice in seen.finding("container was started without GPUs")
    assert seen.code == 1
    assert len(seen.headings) == 1


def test_a_pod_is_told_to_ask_for_a_gpu(tmp_path: Path) -> None:
    root = a_root(tmp_path)
    put_gpu_on_bus(root)
    seen = visit(root, KUBERNETES_SERVICE_HOST="10.0.0.1")
    assert "nvidia.com/gpu: 1" in seen.finding("mend: this kubernetes container")


def test_a_gpu_on_the_bus_without_a_driver(tmp_path: Path) -> None:
    root = a_root(tmp_path)
    put_gpu_on_bus(root)
    seen = visit(root)
    finding = seen.finding("mend: there is an NVIDIA GPU, but its driver is not loaded")
    assert "NVIDIA GPUs on the PCI bus: 1; the NVIDIA driver is not loaded" in finding
    assert seen.code == 1


def test_a_network_card_of_that_vendor_is_no_gpu(tmp_path: Path) -> None:
    root = a_root(tmp_path)
    put_gpu_on_bus(root)
    (root / "sys/bus/pci/devices/0000:01:00.0/class").write_text("0x020000\n")
    assert "GPUs on bus  none" in visit(root).page


@pytest.mark.parametrize("absent", ["dev/nvidia0", "dev/nvidia-uvm"])
def test_a_missing_node_is_named(tmp_path: Path, absent: str) -> None:
    root = a_root(tmp_path, *(node for node in NODES if node != absent))
    load_module(root)
    seen = visit(root, scenario="two")
    assert "nvidia-modprobe" in seen.finding(f"CUDA opens are missing: /{absent}")
    assert seen.code == 1


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that another user can enter, which pytest's tmp_path is not."""
    folder = Path(tempfile.mkdtemp(prefix="doctor-root-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def test_a_node_that_this_user_may_not_open(open_folder: Path) -> None:
    root = a_root(open_folder, *NODES)
    load_module(root)
    for node in NODES:
        (root / node).chmod(0 if node == "dev/nvidia0" else 0o666)
    become_nobody = "import os; os.setuid(65534)" if os.geteuid() == 0 else ""
    look = (
        "from dataclasses import replace; from pathlib import Path\n"
        "from benchmarks.doctor.driver import look\n"
        "from benchmarks.doctor.checks.reach import no_permission\n"
        "from tests.benchmarks.doctor.machines import a_server, some_hardware\n"
        f"{become_nobody}\n"
        f"server = a_server(); driver = look(Path({str(root)!r}), {{}})\n"
        "torch = replace(server.torch, hardware=some_hardware(accelerator=None))\n"
        "found = no_permission(replace(server, driver=driver, torch=torch))\n"
        "answer = [found.level.value, found.evidence]"
    )
    assert play("two", look) == ["mend", "no permission to read and write /dev/nvidia0"]


def test_rocm_without_its_node(tmp_path: Path) -> None:
    root = a_root(tmp_path)
    put_gpu_on_bus(root, vendor="0x1002")
    seen = visit(root, {"cuda": None, "hip": "7.2"})
    assert "amdgpu" in seen.finding("mend: there is an AMD GPU, but no /dev/kfd")


def test_a_machine_without_a_gpu_gets_a_warning_and_trains(tmp_path: Path) -> None:
    seen = visit(a_root(tmp_path))
    assert seen.headings == ["warning: no GPU is in sight: training runs on the CPU"]
    assert seen.code == 0
