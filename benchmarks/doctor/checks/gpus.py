"""Do driver, runtime, visible devices and kernels fit the GPUs that reach this process?"""

from benchmarks.doctor.compatibility import has_kernels, older, oldest_driver
from benchmarks.doctor.facts import Facts
from benchmarks.doctor.finding import Finding, Level
from benchmarks.telemetry.visible import VARIABLE, count_visible


def driver_too_old(facts: Facts) -> Finding | None:
    """The CUDA runtime inside torch needs a newer driver."""
    torch, version = facts.torch, facts.driver.version.value
    if torch.built_for != "cuda" or torch.accelerator or torch.runtime is None or version is None:
        return None
    oldest = oldest_driver(torch.runtime)
    if oldest is None or not older(version, oldest):
        return None
    return Finding(
        Level.MEND,
        f"the NVIDIA driver is too old for CUDA {torch.runtime}",
        f"driver {version}; torch {torch.version} needs {oldest} or newer",
        f"update the driver to {oldest} or newer, or install a torch built for an older CUDA",
    )


def driver_unusable(facts: Facts) -> Finding | None:
    """Device nodes are there, but the driver's library is missing, broken or of another version."""
    driver = facts.driver
    if facts.torch.accelerator or not driver.gpu_nodes or driver.listed.value:
        return None
    reason = driver.listed.reason or ""
    if "nvidia-ml-py" in reason:  # the binding is missing, which says nothing about the driver
        return None
    advice = "reinstall NVIDIA's driver and reboot"
    if "differ" in reason:
        advice = "reboot, so that the kernel loads the module that was updated"
    elif "not found" in reason:
        advice = (
            "let the container have the driver's libraries (NVIDIA_DRIVER_CAPABILITIES=compute,"
            "utility)"
            if facts.host.container
            else "install the driver's user-space libraries (libcuda, libnvidia-ml)"
        )
    return Finding(
        Level.MEND,
        "the GPU's nodes are here, but its driver does not answer",
        f"{', '.join(driver.gpu_nodes)}: {reason}",
        advice,
    )


def hidden(facts: Facts) -> Finding | None:
    """CUDA_VISIBLE_DEVICES leaves no GPU: on purpose when empty or -1, else by mistake."""
    setting, listed = facts.driver.visible, facts.driver.listed.value
    if setting is None or listed is None or not listed.gpus:
        return None
    if count_visible(setting, listed.gpus, listed.migs):
        return None
    on_purpose = setting.strip() in ("", "-1")
    return Finding(
        Level.WARN if on_purpose else Level.MEND,
        f"{VARIABLE} hides every GPU",
        f"{VARIABLE}={setting!r}; the driver lists {_indices(len(listed.gpus))}: "
        + ", ".join(listed.gpus + listed.migs),
        f"`unset {VARIABLE}`, or name GPUs that exist, each once",
    )


def partly_hidden(facts: Facts) -> Finding | None:
    """The list ends early, at an entry that names nothing."""
    setting, listed = facts.driver.visible, facts.driver.listed.value
    if not setting or listed is None:
        return None
    entries = len(setting.split(","))
    count = count_visible(setting, listed.gpus, listed.migs)
    if not 0 < count < entries or "MIG-" in setting:
        return None
    return Finding(
        Level.WARN,
        f"{VARIABLE} names {entries} devices and leaves {count}",
        f"{VARIABLE}={setting!r} ends at {setting.split(',')[count]!r}, which names no GPU; "
        f"the driver lists {_indices(len(listed.gpus))}",
        f"correct the entry, or `unset {VARIABLE}`",
    )


def too_new_or_too_old(facts: Facts) -> Finding | None:
    """This build holds no kernel for a GPU's compute capability."""
    torch = facts.torch
    if torch.built_for != "cuda" or not torch.arch_list or torch.hardware is None:
        return None
    without = [
        gpu
        for gpu in torch.hardware.gpus
        if gpu.capability and not has_kernels(torch.arch_list, gpu.capability)
    ]
    if not without:
        return None
    capability = max(gpu.capability for gpu in without if gpu.capability)
    newer = all(capability > _built(arch) for arch in torch.arch_list)
    return Finding(
        Level.WARN if torch.accelerator else Level.MEND,
        f"this PyTorch holds no kernels for {', '.join(sorted({gpu.name for gpu in without}))}",
        f"compute capability {capability[0]}.{capability[1]}; torch {torch.version} is built for "
        + " ".join(torch.arch_list),
        "install a newer torch, or one built for a newer CUDA"
        if newer
        else "install a torch built for an older CUDA, whose builds reach back further",
    )


def no_peer_access(facts: Facts) -> Finding | None:
    """Some pairs of GPUs exchange gradients through host memory."""
    pairs, count = facts.torch.peer_pairs, _cuda_count(facts)
    possible = count * (count - 1) // 2
    if pairs is None or len(pairs) == possible:
        return None
    return Finding(
        Level.WARN,
        "not all GPUs reach each other's memory directly",
        f"peer-to-peer works for {len(pairs)} of {possible} pairs",
        "expect slower all-reduce; `nvidia-smi topo -m` shows the links. Without NVLink, turning "
        "IOMMU and ACS off in the firmware lets them talk over PCIe; a container needs --ipc=host",
    )


def no_nccl(facts: Facts) -> Finding | None:
    """Several GPUs, and a build that can only join them with gloo."""
    if _cuda_count(facts) < 2 or facts.torch.nccl is not None:
        return None
    return Finding(
        Level.WARN,
        "this PyTorch has no NCCL, and there are several GPUs",
        f"{_cuda_count(facts)} GPUs; torch {facts.torch.version} was built without NCCL",
        "use a Linux build of torch: elsewhere DDP falls back to gloo, through host memory",
    )


def unexplained(facts: Facts) -> Finding | None:
    """A GPU is there, torch cannot use it, and no other check says why: torch's own words."""
    torch, driver = facts.torch, facts.driver
    listed = driver.listed.value.gpus if driver.listed.value else ()
    if torch.hardware is None or torch.accelerator or not (listed or driver.gpu_nodes):
        return None
    return Finding(
        Level.MEND,
        "there is a GPU, but PyTorch cannot use it",
        torch.hardware.accelerator_reason or "torch gives no reason",
        "see whether `nvidia-smi` works; if it does, reboot, or reinstall torch for the CUDA "
        "version that it shows",
    )


def _cuda_count(facts: Facts) -> int:
    return facts.torch.hardware.devices.get("cuda", 0) if facts.torch.hardware else 0


def _indices(count: int) -> str:
    return "GPU 0" if count == 1 else f"GPUs 0 to {count - 1}"


def _built(arch: str) -> tuple[int, int]:
    digits = "".join(each for each in arch if each.isdigit())
    return int(digits[:-1]), int(digits[-1])
