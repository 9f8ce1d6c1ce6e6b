"""Everything the checks may look at, gathered before any of them runs. Unknown is None."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from benchmarks.hardware import Hardware
from benchmarks.telemetry.readings import Reading, Uuids


@dataclass(frozen=True, kw_only=True)
class Packages:
    """The interpreter, and the packages that the suite asks for in pyproject.toml."""

    executable: str
    python: str
    required: Mapping[str, str]  # {"torch": "2.9"}: the oldest that will do
    installed: Mapping[str, str | None]  # same keys; None: not installed


@dataclass(frozen=True, kw_only=True)
class Torch:
    """What a child that imports torch says; with `version` None only `reason` is known."""

    version: str | None = None
    reason: str | None = None  # why torch cannot be imported, its own last line
    built_for: str | None = None  # "cuda", "rocm", "xpu"; None: no accelerator library inside
    runtime: str | None = None  # version of the CUDA or ROCm runtime inside
    arch_list: tuple[str, ...] = ()  # "sm_90", "compute_90"
    nccl: str | None = None
    torchvision: str | None = None
    torchvision_reason: str | None = None  # why torchvision cannot be imported
    peer_pairs: tuple[tuple[int, int], ...] | None = None  # GPUs that reach each other's memory
    hardware: Hardware | None = None
    hardware_reason: str | None = None  # why the devices could not be asked

    @property
    def accelerator(self) -> str | None:
        """The device type that passed a real operation."""
        return self.hardware.accelerator if self.hardware else None


@dataclass(frozen=True, kw_only=True)
class Driver:
    """NVIDIA's driver and what this process may see of its devices; ROCm's device nodes."""

    version: Reading[str]
    listed: Reading[Uuids]
    module_loaded: bool  # the kernel module shows itself under /proc
    nodes: tuple[str, ...]  # "/dev/nvidia0", "/dev/nvidia-uvm", "/dev/kfd", "/dev/dxg"
    denied: tuple[str, ...]  # those of `nodes` that this user may not open
    pci_gpus: Mapping[str, int]  # by vendor, on the bus: {"nvidia": 1}; there without any driver
    visible: str | None  # CUDA_VISIBLE_DEVICES
    slowed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # by UUID, what slows it

    @property
    def gpu_nodes(self) -> tuple[str, ...]:
        """Nodes of single GPUs: /dev/nvidia0, /dev/nvidia1, ..."""
        return tuple(node for node in self.nodes if node.removeprefix("/dev/nvidia").isdecimal())


@dataclass(frozen=True, kw_only=True)
class SharedMemory:
    """/dev/shm, through which loader workers hand over their batches."""

    total_bytes: int
    free_bytes: int
    writable: bool


@dataclass(frozen=True, kw_only=True)
class Host:
    """Processor, memory, limits and compilers."""

    system: str  # "Linux", "Darwin", "Windows"
    cpu_model: str | None
    cpu_isa: tuple[str, ...]
    cpu_cores: int
    affinity_cores: int
    cgroup_cores: float | None
    usable_cores: int
    memory_bytes: int | None
    cgroup_memory_bytes: int | None
    shared_memory: SharedMemory | None  # None: there is no /dev/shm
    open_files: tuple[int, int] | None  # soft and hard limit; None: the system has no such limit
    governor: str | None
    frequency_driver: str | None
    throttle_events: int | None  # of the CPU, while the doctor looked
    container: str | None  # "docker", "podman", "kubernetes", "lxc"
    cxx: str | None  # the C++ compiler that torch.compile takes
    cc: str | None  # the C compiler that Triton takes
    python_headers: bool  # Python.h, which both compile against


@dataclass(frozen=True, kw_only=True)
class Facts:
    """One machine and one interpreter, as they are now."""

    packages: Packages
    torch: Torch
    driver: Driver
    host: Host
