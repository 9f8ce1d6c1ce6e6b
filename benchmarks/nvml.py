"""Readings of NVIDIA GPUs that are either a value or a reason why there is none.

Thin over `pynvml`. Nothing here raises, prints, makes a CUDA context, or says 0 for "unknown":
a driver that is missing, too old, or not allowed to answer is ordinary, and each reading says so
on its own. GPUs are opened by UUID, because the index NVML gives a GPU is neither CUDA's nor
changed by CUDA_VISIBLE_DEVICES.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

T = TypeVar("T")

# Bits of nvmlClocksEventReasons. The first two are no slowdown: an idle GPU and clocks set by hand.
CLOCK_REASONS = {
    0x001: "idle",
    0x002: "clocks set by an application",
    0x004: "power cap",
    0x008: "hardware slowdown",
    0x010: "sync boost",
    0x020: "thermal (software)",
    0x040: "thermal (hardware)",
    0x080: "power brake",
    0x100: "display clocks",
    0x200: "board limit",
    0x400: "reliability limit",
}
THROTTLING = (0x004, 0x008, 0x020, 0x040, 0x080, 0x200, 0x400)
POWER_LIMIT, THERMAL_LIMIT = 0x004 | 0x080, 0x020 | 0x040

# Error numbers from nvml.h, in a reader's words.
_REASONS = {
    3: "not supported by this GPU or driver",
    4: "no permission to read it",
    6: "the driver knows no GPU of that UUID",
    9: "the NVIDIA driver is not loaded",
    12: "no NVIDIA driver here (libnvidia-ml not found)",
    13: "this driver is too old to report it",
    15: "the GPU is lost (it fell off the bus)",
    16: "the GPU must be reset",
    18: "NVIDIA driver and library versions differ (a reboot after the driver update is due)",
    25: "this driver is too old to report it",
    28: "the driver lists no GPU",
}
_NOT_SUPPORTED, _FUNCTION_NOT_FOUND, _INVALID_ARGUMENT, _OLD = 3, 13, 2, (13, 25)
_UNKNOWN_64 = (1 << 64) - 1


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


class Nvml:
    """The GPUs of some UUIDs, opened together. A context manager; never raises.

    A UUID that cannot be opened gives a `NvmlGpu` whose every reading is its reason.
    """

    def __init__(self, uuids: Sequence[str] = ()) -> None:
        self._started = _start()
        self._gpus = {uuid: NvmlGpu(uuid, self._started) for uuid in uuids}

    @property
    def reason(self) -> str | None:
        """Why nothing can be read, or None."""
        return self._started.reason

    def gpu(self, uuid: str) -> "NvmlGpu":
        """The GPU of `uuid`, opened when first asked for."""
        if uuid not in self._gpus:
            self._gpus[uuid] = NvmlGpu(uuid, self._started)
        return self._gpus[uuid]

    def driver_version(self) -> Reading[str]:
        """Version of the installed driver."""
        return _ask(self._started, lambda nvml: str(nvml.nvmlSystemGetDriverVersion()))

    def list_uuids(self) -> Reading[Uuids]:
        """UUIDs of all GPUs and of the MIG instances on them."""
        return _ask(self._started, _uuids)

    def close(self) -> None:
        """Release NVML; safe to call twice."""
        if self._started.value is not None:
            _ask(self._started, lambda nvml: nvml.nvmlShutdown() or True)
        self._started = Reading(None, "NVML was closed")
        for gpu in self._gpus.values():
            gpu.forget()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class NvmlGpu:
    """One GPU or MIG instance; every method is one question to the driver."""

    def __init__(self, uuid: str, started: Reading[Any]) -> None:
        self.uuid = uuid
        self._started = started
        self.is_mig = False
        self._handle: Reading[Any] = _ask(started, lambda nvml: _open(nvml, uuid))
        self.is_mig = uuid.startswith("MIG-") or self.ask(_is_mig).value is True

    @property
    def reason(self) -> str | None:
        """Why this GPU could not be opened, or None."""
        return self._handle.reason

    def utilization(self) -> Reading[Utilization]:
        """How busy the GPU and its memory were in the driver's last period."""
        return self.ask(_utilization)

    def memory_used_bytes(self) -> Reading[int]:
        """Memory in use on the whole device, by whichever process."""
        return self.ask(_memory_used)

    def power_w(self) -> Reading[float]:
        """Power of the whole board; on some GPUs an average over the last second."""
        return self.ask(lambda nvml, gpu: nvml.nvmlDeviceGetPowerUsage(gpu) / 1e3)

    def power_cap_w(self) -> Reading[float]:
        """Limit that the driver enforces now."""
        return self.ask(lambda nvml, gpu: nvml.nvmlDeviceGetEnforcedPowerLimit(gpu) / 1e3)

    def energy_j(self) -> Reading[float]:
        """Energy since the driver was loaded: a counter, meaningful as a difference only."""
        return self.ask(lambda nvml, gpu: nvml.nvmlDeviceGetTotalEnergyConsumption(gpu) / 1e3)

    def sm_clock_mhz(self) -> Reading[float]:
        """Clock of the streaming multiprocessors now."""
        return self.ask(
            lambda nvml, gpu: float(nvml.nvmlDeviceGetClockInfo(gpu, nvml.NVML_CLOCK_SM))
        )

    def memory_clock_mhz(self) -> Reading[float]:
        """Clock of the GPU's memory now."""
        return self.ask(
            lambda nvml, gpu: float(nvml.nvmlDeviceGetClockInfo(gpu, nvml.NVML_CLOCK_MEM))
        )

    def pcie_counter(self) -> Reading[Traffic]:
        """Bytes over PCIe so far; drivers of 2024 and newer count them."""
        return self.ask(_pcie_counter)

    def pcie_per_s(self) -> Reading[Traffic]:
        """Bytes a second over PCIe, for drivers that do not count: takes the driver 2 x 20 ms."""
        return self.ask(_pcie_per_s)

    def nvlink_counter(self) -> Reading[Traffic]:
        """Payload bytes over all NVLinks so far."""
        return self.ask(_nvlink_counter)

    def temperature_c(self) -> Reading[float]:
        """Temperature of the GPU die."""
        return self.ask(_temperature)

    def clock_reasons(self) -> Reading[tuple[str, ...]]:
        """What holds the clocks down now, in words (`CLOCK_REASONS`); empty where nothing does."""
        bits = self.clock_reason_bits()
        return Reading(
            None if bits.value is None else decode_clock_reasons(bits.value), bits.reason
        )

    def clock_reason_bits(self) -> Reading[int]:
        """What holds the clocks down now, as nvml.h's bits."""
        return self.ask(_clock_reason_bits)

    def processes(self) -> Reading[tuple[GpuProcess, ...]]:
        """Processes with a compute context, with the pids that the driver gives them."""
        return self.ask(_processes)

    def forget(self) -> None:
        """Drop the handle: NVML was shut down."""
        self._handle = self._started = Reading(None, "NVML was closed")

    def ask(self, question: Callable[[Any, Any], T]) -> Reading[T]:
        """What `question(pynvml, handle)` returns, or why it raised."""
        if self._handle.value is None:
            return Reading(None, self._handle.reason)
        return _ask(self._started, lambda nvml: question(nvml, self._handle.value), self.is_mig)


def list_uuids() -> Reading[Uuids]:
    """UUIDs of all GPUs, opening and closing NVML for this one question."""
    with Nvml() as nvml:
        return nvml.list_uuids()


def decode_clock_reasons(bits: int) -> tuple[str, ...]:
    """Names of the set bits; a bit that is not known keeps its number."""
    names = [name for bit, name in CLOCK_REASONS.items() if bits & bit]
    unknown = bits & ~sum(CLOCK_REASONS)
    return (*names, f"unknown (0x{unknown:x})") if unknown else tuple(names)


def throttling(bits: int) -> tuple[str, ...]:
    """Names of those set bits that slow a busy GPU down against its free clocks."""
    return tuple(CLOCK_REASONS[bit] for bit in THROTTLING if bits & bit)


def _start() -> Reading[Any]:
    """The initialised binding, or why there is none."""
    try:
        import pynvml  # type: ignore[import-untyped]
    except Exception as error:  # not installed, or another package of that name
        return Reading(None, f"the package nvidia-ml-py (module pynvml) is missing: {error}")
    return _ask(Reading(pynvml), lambda nvml: nvml.nvmlInit() or nvml)


def _ask(started: Reading[Any], question: Callable[[Any], T], mig: bool = False) -> Reading[T]:
    if started.value is None:
        return Reading(None, started.reason)
    try:
        return Reading(question(started.value))
    except Exception as error:  # pynvml also raises ctypes' and its own errors: all mean "unknown"
        return Reading(None, _reason(error, mig))


def _reason(error: Exception, mig: bool) -> str:
    code = getattr(error, "value", None)
    if mig and code in (_NOT_SUPPORTED, _INVALID_ARGUMENT):
        return "not reported for a MIG instance"
    return _REASONS.get(code, str(error) or type(error).__name__)  # type: ignore[arg-type]


def _uuids(nvml: Any) -> Uuids:
    gpus, migs = [], []
    for index in range(nvml.nvmlDeviceGetCount()):
        try:
            handle = nvml.nvmlDeviceGetHandleByIndex(index)
            gpus.append(nvml.nvmlDeviceGetUUID(handle))
        except nvml.NVMLError:  # one lost GPU must not hide the others; CUDA skips it as well
            continue
        migs += _mig_uuids(nvml, handle)
    return Uuids(tuple(gpus), tuple(migs))


def _mig_uuids(nvml: Any, gpu: Any) -> list[str]:
    found: list[str] = []
    try:
        slots = nvml.nvmlDeviceGetMaxMigDeviceCount(gpu)
    except nvml.NVMLError:
        return found
    for slot in range(slots):
        try:
            handle = nvml.nvmlDeviceGetMigDeviceHandleByIndex(gpu, slot)
            found.append(str(nvml.nvmlDeviceGetUUID(handle)))
        except nvml.NVMLError:  # an empty slot
            continue
    return found


def _open(nvml: Any, uuid: str) -> Any:
    """A handle; torch gives UUIDs without their kind, so the other kind is tried as well."""
    bare = uuid.removeprefix("GPU-").removeprefix("MIG-")
    spellings = dict.fromkeys((uuid, f"GPU-{bare}", f"MIG-{bare}"))
    failure: Exception | None = None
    for spelling in spellings:
        try:
            return nvml.nvmlDeviceGetHandleByUUID(spelling)
        except nvml.NVMLError as error:
            failure = failure or error
    assert failure is not None
    raise failure


def _is_mig(nvml: Any, gpu: Any) -> bool:
    return bool(nvml.nvmlDeviceIsMigDeviceHandle(gpu).value)


def _memory_used(nvml: Any, gpu: Any) -> int:
    """Version 2 leaves out what the driver keeps for itself; drivers before 510 have version 1."""
    try:
        return int(nvml.nvmlDeviceGetMemoryInfo(gpu, version=nvml.nvmlMemory_v2).used)
    except nvml.NVMLError as error:
        if error.value not in _OLD:
            raise
    return int(nvml.nvmlDeviceGetMemoryInfo(gpu).used)


def _utilization(nvml: Any, gpu: Any) -> Utilization:
    rates = nvml.nvmlDeviceGetUtilizationRates(gpu)
    return Utilization(float(rates.gpu), float(rates.memory))


def _pcie_counter(nvml: Any, gpu: Any) -> Traffic:
    sent, received = _counters(
        nvml, gpu, nvml.NVML_FI_DEV_PCIE_COUNT_TX_BYTES, nvml.NVML_FI_DEV_PCIE_COUNT_RX_BYTES
    )
    return Traffic(sent, received)


def _pcie_per_s(nvml: Any, gpu: Any) -> Traffic:
    sent, received = (  # KB/s
        nvml.nvmlDeviceGetPcieThroughput(gpu, which) * 1e3
        for which in (nvml.NVML_PCIE_UTIL_TX_BYTES, nvml.NVML_PCIE_UTIL_RX_BYTES)
    )
    return Traffic(sent, received)


def _nvlink_counter(nvml: Any, gpu: Any) -> Traffic:
    every_link = 0xFFFFFFFF
    sent, received = _counters(  # KiB
        nvml,
        gpu,
        (nvml.NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX, every_link),
        (nvml.NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX, every_link),
    )
    return Traffic(sent * 1024, received * 1024)


def _counters(nvml: Any, gpu: Any, *fields: Any) -> list[int]:
    """Raises NVMLError for a field that is not reported, ValueError for one that soon wraps."""
    wide = (nvml.NVML_VALUE_TYPE_UNSIGNED_LONG_LONG, nvml.NVML_VALUE_TYPE_UNSIGNED_LONG)
    found = []
    for each in nvml.nvmlDeviceGetFieldValues(gpu, list(fields)):
        if each.nvmlReturn:
            raise nvml.NVMLError(each.nvmlReturn)
        if each.valueType not in wide:  # 32 bits of bytes are full within a fifth of a second
            raise ValueError("this driver's counter is too narrow")
        found.append(int(each.value.ullVal))
    return found


def _temperature(nvml: Any, gpu: Any) -> float:
    try:
        return float(nvml.nvmlDeviceGetTemperatureV(gpu, nvml.NVML_TEMPERATURE_GPU))
    except (AttributeError, nvml.NVMLError) as error:  # the older binding or driver
        if getattr(error, "value", _FUNCTION_NOT_FOUND) not in _OLD:
            raise
    return float(nvml.nvmlDeviceGetTemperature(gpu, nvml.NVML_TEMPERATURE_GPU))


def _clock_reason_bits(nvml: Any, gpu: Any) -> int:
    try:
        return int(nvml.nvmlDeviceGetCurrentClocksEventReasons(gpu))
    except nvml.NVMLError as error:
        if error.value not in _OLD:
            raise
    return int(nvml.nvmlDeviceGetCurrentClocksThrottleReasons(gpu))


def _processes(nvml: Any, gpu: Any) -> tuple[GpuProcess, ...]:
    try:
        running = nvml.nvmlDeviceGetComputeRunningProcesses_v3(gpu)
    except nvml.NVMLError as error:
        if error.value not in _OLD:
            raise
        running = nvml.nvmlDeviceGetComputeRunningProcesses_v2(gpu)
    return tuple(GpuProcess(int(each.pid), _known(each.usedGpuMemory)) for each in running)


def _known(memory: int | None) -> int | None:
    return None if memory is None or memory == _UNKNOWN_64 else int(memory)
