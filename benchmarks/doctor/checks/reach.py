"""Does a GPU of this machine reach this process at all?"""

from benchmarks.doctor.facts import Facts
from benchmarks.doctor.finding import Finding, Level

START_WITH_GPUS = {
    "docker": "start the container with `--gpus all` (needs the NVIDIA Container Toolkit)",
    "podman": "start the container with `--device nvidia.com/gpu=all` (needs a CDI specification)",
    "kubernetes": "ask for GPUs in the pod (`resources.limits: nvidia.com/gpu: 1`)",
    "lxc": "pass the GPU through to the container (`lxc config device add NAME gpu gpu`)",
}
IN_ANOTHER = "start the container with its GPUs passed through"


def container_without_gpus(facts: Facts) -> Finding | None:
    """The machine shows a GPU or its driver, the container has no node to reach it."""
    driver, kind = facts.driver, facts.host.container
    if kind is None or not _out_of_reach(facts) or not (driver.module_loaded or _on_bus(facts)):
        return None
    return Finding(
        Level.MEND,
        f"this {kind} container was started without GPUs",
        f"{_sign(facts)}, but no GPU has a node (/dev/nvidia0, ...) in here",
        START_WITH_GPUS.get(kind, IN_ANOTHER),
    )


def driver_not_loaded(facts: Facts) -> Finding | None:
    """A GPU on the bus, no kernel module, no container to blame."""
    driver = facts.driver
    if facts.host.container or not _out_of_reach(facts):
        return None
    if driver.module_loaded or not _on_bus(facts):
        return None
    return Finding(
        Level.MEND,
        "there is an NVIDIA GPU, but its driver is not loaded",
        f"{_sign(facts)}; {driver.listed.reason}",
        "install NVIDIA's driver and reboot; if it is installed, `sudo modprobe nvidia` says why "
        "it does not load (often a kernel update, or Secure Boot refusing an unsigned module)",
    )


def no_device_node(facts: Facts) -> Finding | None:
    """The kernel module is loaded, but nodes that CUDA opens are missing."""
    driver = facts.driver
    if facts.torch.accelerator or not driver.module_loaded:
        return None
    absent = [] if driver.gpu_nodes else ["/dev/nvidia0"]
    absent += [node for node in ("/dev/nvidiactl", "/dev/nvidia-uvm") if node not in driver.nodes]
    if not absent or (facts.host.container and not driver.gpu_nodes):
        return None
    inside = START_WITH_GPUS.get(facts.host.container or "", IN_ANOTHER)
    return Finding(
        Level.MEND,
        f"device nodes that CUDA opens are missing: {', '.join(absent)}",
        f"NVIDIA's kernel module is loaded (version {driver.version.value or 'unknown'})",
        inside if facts.host.container else "run `sudo nvidia-modprobe -u -c 0`, which makes them",
    )


def no_permission(facts: Facts) -> Finding | None:
    """The nodes are there, this user may not open them."""
    if facts.torch.accelerator or not facts.driver.denied:
        return None
    amd = "/dev/kfd" in facts.driver.denied
    return Finding(
        Level.MEND,
        "this user may not open the GPU",
        f"no permission to read and write {', '.join(facts.driver.denied)}",
        "add the user to the group render (`sudo usermod -aG render,video $USER`) and log in again"
        if amd
        else "give the nodes mode 0666 (`sudo chmod a+rw /dev/nvidia*`) or the user their group; "
        "in a batch system, ask for a GPU with the job",
    )


def no_rocm_node(facts: Facts) -> Finding | None:
    """A ROCm build on a machine with an AMD GPU, without the node that it opens."""
    driver = facts.driver
    if facts.torch.built_for != "rocm" or facts.torch.accelerator or "/dev/kfd" in driver.nodes:
        return None
    if not driver.pci_gpus.get("amd"):
        return None
    return Finding(
        Level.MEND,
        "there is an AMD GPU, but no /dev/kfd to reach it",
        f"AMD GPUs on the PCI bus: {driver.pci_gpus['amd']}; torch is built for ROCm",
        "start the container with `--device /dev/kfd --device /dev/dri`"
        if facts.host.container
        else "install the amdgpu driver of ROCm and reboot",
    )


def no_gpu_in_sight(facts: Facts) -> Finding | None:
    """Built for GPUs, and not even a sign of one: training works, on the CPU."""
    torch, driver = facts.torch, facts.driver
    if torch.built_for not in ("cuda", "rocm") or torch.accelerator or driver.nodes:
        return None
    if driver.listed.value or driver.module_loaded or _on_bus(facts) or driver.pci_gpus.get("amd"):
        return None
    kind = facts.host.container
    return Finding(
        Level.WARN,
        "no GPU is in sight: training runs on the CPU",
        f"torch {torch.version} is built for {torch.built_for}; no driver, no device node, and no "
        "such GPU on the PCI bus",
        "nothing, if this machine has none; if it has one, "
        + (
            START_WITH_GPUS.get(kind, IN_ANOTHER) if kind else "check that it is seated and powered"
        ),
    )


def _out_of_reach(facts: Facts) -> bool:
    driver = facts.driver
    listed = driver.listed.value.gpus if driver.listed.value else ()
    return not (facts.torch.accelerator or listed or driver.gpu_nodes or "/dev/dxg" in driver.nodes)


def _on_bus(facts: Facts) -> bool:
    return facts.driver.pci_gpus.get("nvidia", 0) > 0


def _sign(facts: Facts) -> str:
    if _on_bus(facts):
        return f"NVIDIA GPUs on the PCI bus: {facts.driver.pci_gpus['nvidia']}"
    return "NVIDIA's kernel module is loaded outside"
