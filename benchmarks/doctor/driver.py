"""What there is of a GPU below torch: PCI bus, kernel module, device nodes, driver library."""

import os
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from benchmarks.doctor.facts import Driver
from benchmarks.doctor.files import text
from benchmarks.telemetry.clock_reasons import throttling
from benchmarks.telemetry.nvml import Nvml
from benchmarks.telemetry.readings import Reading
from benchmarks.telemetry.visible import VARIABLE

PCI_VENDORS = {"0x10de": "nvidia", "0x1002": "amd", "0x8086": "intel"}
DISPLAY_CLASS = "0x03"  # VGA, 3D and other display controllers: what a GPU calls itself
NODES = ("nvidia[0-9]*", "nvidiactl", "nvidia-uvm", "kfd", "dxg")


def look(root: Path, environ: Mapping[str, str]) -> Driver:
    """Facts from `root`'s /dev, /proc and /sys, and from the driver's management library."""
    nodes = [node for pattern in NODES for node in sorted((root / "dev").glob(pattern))]
    with Nvml() as nvml:
        version, listed = nvml.driver_version(), nvml.list_uuids()
        slowed = {
            uuid: slow
            for uuid in (listed.value.gpus if listed.value else ())
            if (slow := throttling(nvml.gpu(uuid).clock_reason_bits().value or 0))
        }
    return Driver(
        version=version if version.value else _module_version(root, version),
        listed=listed,
        module_loaded=(root / "proc/driver/nvidia/version").exists(),
        nodes=tuple(f"/dev/{node.name}" for node in nodes),
        denied=tuple(
            f"/dev/{node.name}" for node in nodes if not os.access(node, os.R_OK | os.W_OK)
        ),
        pci_gpus=pci_gpus(root),
        visible=environ.get(VARIABLE),
        slowed=slowed,
    )


def pci_gpus(root: Path) -> dict[str, int]:
    """GPUs on the PCI bus by vendor; the bus shows them in containers, and without a driver."""
    found = Counter[str]()
    for device in (root / "sys/bus/pci/devices").glob("*"):
        vendor, kind = text(device / "vendor"), text(device / "class")
        if vendor in PCI_VENDORS and kind.startswith(DISPLAY_CLASS):
            found[PCI_VENDORS[vendor]] += 1
    return dict(found)


def _module_version(root: Path, unknown: Reading[str]) -> Reading[str]:
    """The kernel module says its version too, which needs neither library nor binding."""
    said = text(root / "proc/driver/nvidia/version")
    match = re.search(r"Module.*?\s(\d+\.\d+(?:\.\d+)?)\s", said)
    return Reading(match[1]) if match else unknown
