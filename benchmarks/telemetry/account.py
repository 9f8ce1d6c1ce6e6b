"""The account of one arm: everything telemetry saw of it, as the fields of a record.

Pure: windows and samples in, plain JSON values out. Names carry units. What is unknown is None
and says why, what is known says from how many readings it was made.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.telemetry import counters, gpu_use, strangers
from benchmarks.telemetry.clock_reasons import POWER_LIMIT, THERMAL_LIMIT
from benchmarks.telemetry.gpm import METRICS, PERCENTAGES
from benchmarks.telemetry.readings import Reading, Traffic
from benchmarks.telemetry.windows import NO_GPU, GpuSample, Window

GPU_KEYS = ("gpu_utilization_pct", "gpu_memory_used_bytes", "gpu_power_w", "energy_j_per_sample")


@dataclass(frozen=True)
class _Seen:
    """Of both arms the windows, of one arm the rest; `late` are the settled looks."""

    windows: Sequence[Window]
    own: Sequence[Window]
    looks: Sequence[GpuSample]
    late: Sequence[GpuSample]
    gpus: Sequence[str]


def summarise(arm: str, windows: Sequence[Window], samples: Sequence[GpuSample]) -> dict[str, Any]:
    """What `arm` used, from what was seen of both arms; see `Telemetry.summary`."""
    own = [window for window in windows if window.arm == arm]
    looks = [sample for sample in samples if sample.arm == arm]
    late, settle_s = gpu_use.settled(looks)
    seen = _Seen(windows, own, looks, late, own[-1].gpus if own else ())
    sources: dict[str, Any] = {}
    found: dict[str, Reading[Any]] = _cpu(seen, sources)
    if seen.gpus:
        sources["gpu_settle_s"] = settle_s
        found |= _gpu(seen, sources)
    else:
        found |= dict.fromkeys(GPU_KEYS, Reading[Any](None, NO_GPU))
    if not own:
        found = dict.fromkeys(found, Reading[Any](None, "none of its runs was measured"))
    return {
        **{name: reading.value for name, reading in found.items()},
        "counts": {
            "runs": len(own),
            "samples": sum(window.samples for window in own),
            "gpu_looks": len(looks),
            "gpu_looks_settled": len(late),
        },
        "readings": {
            name: reading.samples for name, reading in found.items() if reading.value is not None
        },
        "sources": sources,
        "reasons": {
            name: reading.reason for name, reading in found.items() if reading.value is None
        },
    }


def _cpu(seen: _Seen, sources: dict[str, Any]) -> dict[str, Reading[Any]]:
    own = seen.own
    memory = counters.peak_resident(own)
    if memory.value is not None:
        sources["resident_bytes"] = memory.value.kind
    cores = next((window.end.system.cores for window in own if window.end.system), None)
    return {
        "cpu_utilization_pct": counters.cpu_utilization_pct(own),
        "cpu_by_process_pct": counters.cpu_by_process_pct(own),
        "cpu_cores": Reading(cores, None if cores else "the system does not tell its cores"),
        "cpu_pressure_share": counters.cpu_pressure_share(own),
        "load_average": counters.load_average(own),
        "foreign_cpu_cores": strangers.foreign_cpu_cores(own),
        "steal_share": strangers.steal_share(own),
        "resident_bytes": _map(memory, lambda each: each.bytes),
        "shared_memory_bytes": _map(
            memory, lambda each: each.shared_bytes, "the system does not tell shared memory apart"
        ),
        "disk_read_bytes_per_s": counters.disk_read_bytes_per_s(own),
    }


def _gpu(seen: _Seen, sources: dict[str, Any]) -> dict[str, Reading[Any]]:
    own, late, gpus = seen.own, seen.late, seen.gpus
    matched = strangers.pids_are_ours(seen.windows)

    def mean(what: Callable[[GpuSample], Reading[float]]) -> Reading[float]:
        return gpu_use.mean_over_gpus(late, gpus, what)

    return {
        "gpu_utilization_pct": mean(lambda look: look.utilization_pct),
        "gpu_memory_utilization_pct": mean(lambda look: look.memory_utilization_pct),
        "gpu_memory_used_bytes": gpu_use.gpu_memory_bytes(own, matched),
        "gpu_memory_others_bytes": strangers.others_gpu_memory_bytes(own, matched),
        "gpu_device_memory_used_bytes": gpu_use.peak_device_memory_bytes(seen.looks, gpus),
        **_energy(seen, sources),
        "gpu_power_cap_w": counters.power_cap_w(own, gpus),
        "gpu_power_limited_share": gpu_use.limited_share(late, gpus, POWER_LIMIT),
        "gpu_thermal_limited_share": gpu_use.limited_share(late, gpus, THERMAL_LIMIT),
        "gpu_sm_clock_mhz": mean(lambda look: look.sm_clock_mhz),
        "gpu_memory_clock_mhz": mean(lambda look: look.memory_clock_mhz),
        "gpu_temperature_c": mean(lambda look: look.temperature_c),
        **{metric: counters.gpm(own, gpus, metric) for metric in PERCENTAGES},
        **_links(seen, sources),
        "foreign_gpu_processes": _map(strangers.foreign_gpu_processes(seen.windows), len),
    }


def _energy(seen: _Seen, sources: dict[str, Any]) -> dict[str, Reading[Any]]:
    energy = gpu_use.energy(seen.own, seen.late)
    if energy.value is not None:
        sources["gpu_power_w"] = sources["energy_j_per_sample"] = energy.value.source
    return {
        "gpu_power_w": _map(energy, lambda each: each.joules / each.seconds),
        "energy_j_per_sample": _map(
            energy,
            lambda each: each.joules / each.samples if each.samples else None,
            "no sample was processed",
        ),
    }


def _links(seen: _Seen, sources: dict[str, Any]) -> dict[str, Reading[Any]]:
    """By the GPU's performance counters where it has them, else by the driver's own."""
    driver = {
        "pcie": counters.pcie_per_s(seen.own, seen.looks, seen.gpus),
        "nvlink": counters.nvlink_per_s(seen.own, seen.gpus),
    }
    found: dict[str, Reading[Any]] = {}
    for name in METRICS:
        if name in PERCENTAGES:
            continue
        link = "pcie" if "pcie" in name else "nvlink"
        best = counters.gpm(seen.own, seen.gpus, name)
        if best.value is not None:
            sources[name] = "GPM"
        else:
            best = _map(driver[link], _sent if "sent" in name else _received)
            if best.value is not None:
                sources[name] = "driver"
        found[name] = best
    return found


def _sent(traffic: Traffic) -> float:
    return traffic.sent_bytes


def _received(traffic: Traffic) -> float:
    return traffic.received_bytes


def _map(
    reading: Reading[Any], change: Callable[[Any], Any], without: str = "unknown"
) -> Reading[Any]:
    """The changed value with the count it came from; `without` is the reason where that is None."""
    if reading.value is None:
        return reading
    value = change(reading.value)
    return Reading(value, None if value is not None else without, reading.samples)
