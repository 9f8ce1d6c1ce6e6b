"""Readings of NVIDIA GPUs that are either a value or a reason why there is none.

Thin over `pynvml`. Nothing here raises, prints, makes a CUDA context, or says 0 for "unknown":
a driver that is missing, too old, or not allowed to answer is ordinary, and each reading says so
on its own. GPUs are opened by UUID, because the index NVML gives a GPU is neither CUDA's nor
changed by CUDA_VISIBLE_DEVICES.
"""

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

from benchmarks.telemetry import nvml_calls as calls
from benchmarks.telemetry.clock_reasons import decode_clock_reasons
from benchmarks.telemetry.readings import GpuProcess, Reading, Traffic, Utilization, Uuids

T = TypeVar("T")

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
_NOT_SUPPORTED, _INVALID_ARGUMENT = 3, 2


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
        return _ask(self._started, calls.uuids)

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
        self._handle: Reading[Any] = _ask(started, lambda nvml: calls.open_by_uuid(nvml, uuid))
        self.is_mig = uuid.startswith("MIG-") or self.ask(calls.is_mig).value is True

    @property
    def reason(self) -> str | None:
        """Why this GPU could not be opened, or None."""
        return self._handle.reason

    def utilization(self) -> Reading[Utilization]:
        """How busy the GPU and its memory were in the driver's last period."""
        return self.ask(calls.utilization)

    def memory_used_bytes(self) -> Reading[int]:
        """Memory in use on the whole device, by whichever process."""
        return self.ask(calls.memory_used)

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
        return self.ask(calls.pcie_counter)

    def pcie_per_s(self) -> Reading[Traffic]:
        """Bytes a second over PCIe, for drivers that do not count: takes the driver 2 x 20 ms."""
        return self.ask(calls.pcie_per_s)

    def nvlink_counter(self) -> Reading[Traffic]:
        """Payload bytes over all NVLinks so far."""
        return self.ask(calls.nvlink_counter)

    def temperature_c(self) -> Reading[float]:
        """Temperature of the GPU die."""
        return self.ask(calls.temperature)

    def clock_reasons(self) -> Reading[tuple[str, ...]]:
        """What holds the clocks down now, in words (`CLOCK_REASONS`); empty where nothing does."""
        bits = self.clock_reason_bits()
        return Reading(
            None if bits.value is None else decode_clock_reasons(bits.value), bits.reason
        )

    def clock_reason_bits(self) -> Reading[int]:
        """What holds the clocks down now, as nvml.h's bits."""
        return self.ask(calls.clock_reason_bits)

    def processes(self) -> Reading[tuple[GpuProcess, ...]]:
        """Processes with a compute context, with the pids that the driver gives them."""
        return self.ask(calls.processes)

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
