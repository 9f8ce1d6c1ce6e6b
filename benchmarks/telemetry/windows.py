"""What telemetry saw: an arm's runs with the counters at their edges, and looks at GPUs.

Plain data. The numbers made from it (`counters`, `gpu_use`, `strangers`) read no clock, process or
driver, so every rule can be tested on made-up ones.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from benchmarks.telemetry.gpm import Metrics
from benchmarks.telemetry.processes import Resident, SystemCpu, Table
from benchmarks.telemetry.readings import GpuProcess, Reading, Traffic

NO_GPU = "it uses no NVIDIA GPU"
UNREAD: Reading[float] = Reading(None, "it was not read")


@dataclass(frozen=True, kw_only=True)
class Edge:
    """Cumulative counters at one moment; None or an empty mapping where unknown."""

    at_s: float
    arm_cpu_s: float | None = None  # the running arm's tree
    our_cpu_s: float | None = None  # both arms and this process with its children
    system: SystemCpu | None = None
    energy_j: Mapping[str, Reading[float]] = field(default_factory=dict)  # by GPU
    arm_table: Table = field(default_factory=dict)  # the running arm's processes
    disk_read_bytes: int | None = None  # by the running arm's tree
    pressure_s: float | None = None
    pcie: Mapping[str, Reading[Traffic]] = field(default_factory=dict)  # by GPU
    nvlink: Mapping[str, Reading[Traffic]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Window:
    """One run of blocks of one arm."""

    arm: str
    gpus: tuple[str, ...]
    samples: int  # training samples processed between the edges
    begin: Edge
    end: Edge
    resident: Resident | None = None  # at the end, where it was read
    arm_pids: frozenset[int] = frozenset()
    our_pids: frozenset[int] = frozenset()
    processes: Mapping[str, Reading[tuple[GpuProcess, ...]]] = field(default_factory=dict)
    memory_used: Mapping[str, Reading[int]] = field(default_factory=dict)  # by GPU, at the end
    power_cap_w: Mapping[str, Reading[float]] = field(default_factory=dict)
    gpm: Mapping[str, Metrics] = field(default_factory=dict)
    load_average: float | None = None

    @property
    def seconds(self) -> float:
        """Length of the run."""
        return self.end.at_s - self.begin.at_s


@dataclass(frozen=True, kw_only=True)
class GpuSample:
    """One look at one GPU while `arm` ran, `into_run_s` after its run began."""

    arm: str
    gpu: str
    into_run_s: float
    utilization_pct: Reading[float]
    power_w: Reading[float]
    memory_used_bytes: Reading[int]
    sm_clock_mhz: Reading[float]
    temperature_c: Reading[float]
    clock_reason_bits: Reading[int]
    memory_utilization_pct: Reading[float] = UNREAD
    memory_clock_mhz: Reading[float] = UNREAD
    pcie_per_s: Reading[Traffic] | None = None  # None: this look did not ask
