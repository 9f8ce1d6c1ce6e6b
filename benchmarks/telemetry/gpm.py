"""What a GPU's parts did over a run: its performance counters (GPM, Hopper and newer) at two edges.

Unlike utilization, which says that some kernel ran, these tell how many multiprocessors worked,
with how many warps, and how close the tensor cores and the memory came to their limits. The GPU
counts by itself: a run costs one sample at each edge, none in between.
"""

from collections.abc import Mapping
from typing import Any

from benchmarks.telemetry.nvml import NvmlGpu
from benchmarks.telemetry.readings import Reading

# nvml.h's numbers of the metrics, by our names; a link's are MiB/s and become bytes/s here.
PERCENTAGES = {
    "gpu_sm_active_pct": 2,
    "gpu_occupancy_pct": 3,
    "gpu_tensor_active_pct": 5,
    "gpu_dram_active_pct": 10,
}
RATES = {
    "gpu_pcie_sent_bytes_per_s": 20,
    "gpu_pcie_received_bytes_per_s": 21,
    "gpu_nvlink_received_bytes_per_s": 60,
    "gpu_nvlink_sent_bytes_per_s": 61,
}
METRICS = PERCENTAGES | RATES
SHORTEST_S = 0.1  # NVIDIA's: the GPU refreshes its counters that often

Metrics = Mapping[str, Reading[float]]


class Gpm:
    """The performance counters of one GPU or MIG instance. `close` before NVML is shut down."""

    def __init__(self, gpu: NvmlGpu) -> None:
        self._gpu = gpu
        self._begun = False
        self._take_sample = _take_of_instance if gpu.is_mig else _take_of_gpu
        self._samples: Reading[tuple[Any, Any]] = gpu.ask(
            _allocate_for_instance if gpu.is_mig else _allocate
        )

    def begin(self) -> None:
        """The run begins now."""
        self._begun = self._take(0).value is not None

    def end(self) -> Metrics:
        """The metrics since `begin`, each of METRICS; a metric that is unknown says why."""
        taken = self._take(1)
        if taken.value is None:
            return dict.fromkeys(METRICS, Reading[float](None, taken.reason))
        if not self._begun:
            return dict.fromkeys(METRICS, Reading[float](None, "its counters were not read before"))
        assert self._samples.value is not None
        first, last = self._samples.value
        found = self._gpu.ask(lambda nvml, gpu: _between(nvml, first, last))
        return found.value or dict.fromkeys(METRICS, Reading[float](None, found.reason))

    def close(self) -> None:
        """Give the driver its buffers back; safe to call twice."""
        samples, self._samples = self._samples, Reading(None, "NVML was closed")
        self._gpu.ask(lambda nvml, gpu: [nvml.nvmlGpmSampleFree(s) for s in samples.value or ()])

    def _take(self, which: int) -> Reading[bool]:
        if self._samples.value is None:
            return Reading(None, self._samples.reason)
        sample = self._samples.value[which]
        return self._gpu.ask(lambda nvml, gpu: bool(self._take_sample(nvml, gpu, sample)))


def _take_of_gpu(nvml: Any, gpu: Any, sample: Any) -> Any:
    return nvml.nvmlGpmSampleGet(gpu, sample)


def _take_of_instance(nvml: Any, mig: Any, sample: Any) -> Any:
    """A MIG instance is asked for by its number on the GPU that it is a part of."""
    gpu = nvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(mig)
    return nvml.nvmlGpmMigSampleGet(gpu, nvml.nvmlDeviceGetGpuInstanceId(mig), sample)


def _allocate_for_instance(nvml: Any, mig: Any) -> tuple[Any, Any]:
    return _allocate(nvml, nvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(mig))


def _allocate(nvml: Any, gpu: Any) -> tuple[Any, Any]:
    if not nvml.nvmlGpmQueryDeviceSupport(gpu).isSupportedDevice:
        raise nvml.NVMLError(nvml.NVML_ERROR_NOT_SUPPORTED)
    return nvml.nvmlGpmSampleAlloc(), nvml.nvmlGpmSampleAlloc()


def _between(nvml: Any, first: Any, last: Any) -> dict[str, Reading[float]]:
    request = nvml.c_nvmlGpmMetricsGet_t()
    request.version = nvml.NVML_GPM_METRICS_GET_VERSION
    request.numMetrics = len(METRICS)
    request.sample1, request.sample2 = first, last
    for place, number in enumerate(METRICS.values()):
        request.metrics[place].metricId = number
    nvml.nvmlGpmMetricsGet(request)
    found = {}
    for place, name in enumerate(METRICS):
        metric = request.metrics[place]
        if metric.nvmlReturn:
            found[name] = Reading[float](None, "not supported by this GPU or driver")
        else:
            found[name] = Reading(metric.value * (2**20 if name in RATES else 1))
    return found
