"""The page: one line a fact, then the findings, then the verdict. Plain text, for any terminal."""

from collections.abc import Iterable, Iterator, Sequence

from benchmarks.doctor.compatibility import tensor_dtypes
from benchmarks.doctor.facts import Facts, Host, SharedMemory, Torch
from benchmarks.doctor.finding import Finding, Level
from benchmarks.hardware import Gpu

MIB, GIB = 1 << 20, 1 << 30
NAME_WIDTH = 13
Line = tuple[str, str]


def page(facts: Facts, findings: Sequence[Finding]) -> str:
    """Everything that is known and everything that is wrong."""
    lines = [f"{name:<{NAME_WIDTH}}{value}" for name, value in _facts(facts)]
    for number, finding in enumerate(findings, 1):
        lines += ["", *_finding(number, finding)]
    return "\n".join([*lines, "", verdict(facts, findings), ""])


def verdict(facts: Facts, findings: Sequence[Finding]) -> str:
    """One sentence: can one train here, and on what."""
    to_mend = sum(finding.level is Level.MEND for finding in findings)
    warnings = len(findings) - to_mend
    if to_mend:
        return f"To mend: {to_mend}. Warnings: {warnings}."
    device = facts.torch.accelerator or "CPU"
    return f"Training works here, on the {_DEVICES.get(device, device)}. Warnings: {warnings}."


_DEVICES = {"cuda": "GPU (cuda)", "xpu": "GPU (xpu)", "mps": "GPU (mps)"}


def _finding(number: int, finding: Finding) -> Iterator[str]:
    yield f"{number}. {finding.level.value}: {finding.what}"
    yield f"   evidence: {finding.evidence}"
    yield f"   what to do: {finding.advice}"


def _facts(facts: Facts) -> Iterator[Line]:
    yield "python", f"{facts.packages.python} ({facts.packages.executable})"
    yield from _torch(facts.torch)
    yield from _driver(facts)
    yield from _host(facts.host, facts.torch)
    triton = facts.torch.hardware.compilers.get("triton") if facts.torch.hardware else None
    yield (
        "compilers",
        f"C++ {facts.host.cxx or 'none'}, C {facts.host.cc or 'none'}, Triton {triton or 'none'}, "
        f"Python headers {'found' if facts.host.python_headers else 'missing'}",
    )


def _torch(torch: Torch) -> Iterator[Line]:
    if torch.version is None:
        yield "torch", f"none ({torch.reason})"
        return
    built = {"cuda": "CUDA", "rocm": "ROCm", "xpu": "XPU", None: "the CPU only"}
    yield "torch", f"{torch.version}, built for {_words(built[torch.built_for], torch.runtime)}"
    yield "torchvision", torch.torchvision or f"none ({torch.torchvision_reason})"
    if torch.arch_list:
        yield "kernels for", " ".join(torch.arch_list)
    yield "NCCL", torch.nccl or "none"
    if torch.hardware is None:
        yield "accelerator", f"unknown ({torch.hardware_reason})"
        return
    hardware = torch.hardware
    yield "accelerator", hardware.accelerator or f"none ({hardware.accelerator_reason})"
    for gpu in hardware.gpus:
        yield f"GPU {gpu.index}", _gpu(gpu)
    if torch.peer_pairs is not None and len(hardware.gpus) > 1:
        pairs = ", ".join(f"{one}-{two}" for one, two in torch.peer_pairs)
        yield "peer access", pairs or "none"


def _gpu(gpu: Gpu) -> str:
    parts = [gpu.name]
    if gpu.memory_bytes is not None:
        parts.append(_size(gpu.memory_bytes))
    if gpu.capability and gpu.device == "cuda":
        parts.append(f"capability {gpu.capability[0]}.{gpu.capability[1]}")
        dtypes = tensor_dtypes(gpu.capability, gpu.name)
        parts.append(f"tensor cores: {' '.join(dtypes) or 'none'}")
    return ", ".join(parts)


def _driver(facts: Facts) -> Iterator[Line]:
    driver = facts.driver
    yield "driver", driver.version.value or f"not known ({driver.version.reason})"
    yield "device nodes", " ".join(driver.nodes) or "none"
    bus = ", ".join(f"{vendor} {count}" for vendor, count in sorted(driver.pci_gpus.items()))
    yield "GPUs on bus", bus or "none"
    if driver.visible is not None:
        yield "visible", f"CUDA_VISIBLE_DEVICES={driver.visible!r}"


def _host(host: Host, torch: Torch) -> Iterator[Line]:
    yield "CPU", host.cpu_model or "unknown"
    used = torch.hardware and torch.hardware.torch_facts.get("cpu_capability")
    yield (
        "CPU ISA",
        (" ".join(host.cpu_isa) or "unknown") + (f" (torch uses {used})" if used else ""),
    )
    quota = "none" if host.cgroup_cores is None else f"{host.cgroup_cores:g} cores"
    yield (
        "cores",
        f"{host.usable_cores} usable (machine {host.cpu_cores}, affinity {host.affinity_cores}, "
        f"cgroup limit {quota})",
    )
    yield "memory", f"{_size(host.memory_bytes)} (cgroup limit {_limit(host.cgroup_memory_bytes)})"
    yield "/dev/shm", _shared(host.shared_memory)
    yield (
        "open files",
        "no limit"
        if host.open_files is None
        else f"{host.open_files[0]} (hard limit {host.open_files[1]})",
    )
    clocks = _words(
        host.governor or "not shown", host.frequency_driver and f"({host.frequency_driver})"
    )
    yield "governor", clocks
    yield "container", host.container or "none"


def _shared(memory: SharedMemory | None) -> str:
    if memory is None:
        return "none"
    note = "" if memory.writable else ", read-only"
    return f"{_size(memory.free_bytes)} free of {_size(memory.total_bytes)}{note}"


def _limit(limit_bytes: int | None) -> str:
    return "none" if limit_bytes is None else _size(limit_bytes)


def _size(size_bytes: int | None) -> str:
    if size_bytes is None:
        return "unknown"
    return f"{size_bytes / GIB:.3g} GiB" if size_bytes >= GIB else f"{size_bytes / MIB:.3g} MiB"


def _words(*words: str | None) -> str:
    present: Iterable[str] = (word for word in words if word)
    return " ".join(present)
