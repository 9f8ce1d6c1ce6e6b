"""The questions themselves, as functions of pynvml and a handle; they raise what pynvml raises.

Drivers and bindings differ: each asks the newer call first and the older one where that is absent.
"""

from typing import Any

from benchmarks.telemetry.readings import GpuProcess, Traffic, Utilization, Uuids

_FUNCTION_NOT_FOUND, _OLD = 13, (13, 25)  # of nvml.h: what drivers say to calls they do not know
_UNKNOWN_64 = (1 << 64) - 1


def uuids(nvml: Any) -> Uuids:
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


def open_by_uuid(nvml: Any, uuid: str) -> Any:
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


def is_mig(nvml: Any, gpu: Any) -> bool:
    return bool(nvml.nvmlDeviceIsMigDeviceHandle(gpu).value)


def memory_used(nvml: Any, gpu: Any) -> int:
    """Version 2 leaves out what the driver keeps for itself; drivers before 510 have version 1."""
    try:
        return int(nvml.nvmlDeviceGetMemoryInfo(gpu, version=nvml.nvmlMemory_v2).used)
    except nvml.NVMLError as error:
        if error.value not in _OLD:
            raise
    return int(nvml.nvmlDeviceGetMemoryInfo(gpu).used)


def utilization(nvml: Any, gpu: Any) -> Utilization:
    rates = nvml.nvmlDeviceGetUtilizationRates(gpu)
    return Utilization(float(rates.gpu), float(rates.memory))


def pcie_counter(nvml: Any, gpu: Any) -> Traffic:
    sent, received = _counters(
        nvml, gpu, nvml.NVML_FI_DEV_PCIE_COUNT_TX_BYTES, nvml.NVML_FI_DEV_PCIE_COUNT_RX_BYTES
    )
    return Traffic(sent, received)


def pcie_per_s(nvml: Any, gpu: Any) -> Traffic:
    sent, received = (  # KB/s
        nvml.nvmlDeviceGetPcieThroughput(gpu, which) * 1e3
        for which in (nvml.NVML_PCIE_UTIL_TX_BYTES, nvml.NVML_PCIE_UTIL_RX_BYTES)
    )
    return Traffic(sent, received)


def nvlink_counter(nvml: Any, gpu: Any) -> Traffic:
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


def temperature(nvml: Any, gpu: Any) -> float:
    try:
        return float(nvml.nvmlDeviceGetTemperatureV(gpu, nvml.NVML_TEMPERATURE_GPU))
    except (AttributeError, nvml.NVMLError) as error:  # the older binding or driver
        if getattr(error, "value", _FUNCTION_NOT_FOUND) not in _OLD:
            raise
    return float(nvml.nvmlDeviceGetTemperature(gpu, nvml.NVML_TEMPERATURE_GPU))


def clock_reason_bits(nvml: Any, gpu: Any) -> int:
    try:
        return int(nvml.nvmlDeviceGetCurrentClocksEventReasons(gpu))
    except nvml.NVMLError as error:
        if error.value not in _OLD:
            raise
    return int(nvml.nvmlDeviceGetCurrentClocksThrottleReasons(gpu))


def processes(nvml: Any, gpu: Any) -> tuple[GpuProcess, ...]:
    try:
        running = nvml.nvmlDeviceGetComputeRunningProcesses_v3(gpu)
    except nvml.NVMLError as error:
        if error.value not in _OLD:
            raise
        running = nvml.nvmlDeviceGetComputeRunningProcesses_v2(gpu)
    return tuple(GpuProcess(int(each.pid), _known(each.usedGpuMemory)) for each in running)


def _known(memory: int | None) -> int | None:
    return None if memory is None or memory == _UNKNOWN_64 else int(memory)
