"""What a driver answers: a value, or the reason why there is none; never 0 for "unknown"."""

from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Reading(Generic[T]):
    """A value, or None and the reason why it is unknown; exactly one of the two is None.

    `samples` is how many looks or runs a value was made from.
    """

    value: T | None
    reason: str | None = None
    samples: int = field(default=1, compare=False)


@dataclass(frozen=True)
class Utilization:
    """Shares of the last period (1/6 to 1 s): in which some kernel ran (that is not occupancy),
    and in which memory was read or written (that is not bandwidth)."""

    gpu_pct: float
    memory_pct: float


@dataclass(frozen=True)
class Traffic:
    """Bytes sent and received by the GPU since some moment: a counter, meaningful as a difference,
    or over a second."""

    sent_bytes: float
    received_bytes: float


@dataclass(frozen=True)
class Uuids:
    """UUIDs that the driver lists, GPUs in NVML's order (by PCI bus), and MIG instances."""

    gpus: tuple[str, ...]
    migs: tuple[str, ...]


@dataclass(frozen=True)
class GpuProcess:
    """A process with a compute context; its pid is the driver's, in the host's pid namespace."""

    pid: int
    memory_bytes: int | None
