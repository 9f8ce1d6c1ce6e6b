"""What an arm's GPUs did while it ran: means over looks, energy, memory. Pure functions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.telemetry.readings import Reading
from benchmarks.telemetry.strangers import OTHER_NAMESPACE
from benchmarks.telemetry.windows import NO_GPU, GpuSample, Window

# A driver's utilization and power look back over up to a second: early samples still show the
# other arm. Where runs are too short for samples past one second, those past the shortest
# period (1/6 s) are taken, and the summary says so.
SETTLE_S = (1.0, 1 / 6)
ENOUGH_SAMPLES = 5
TOO_SHORT = "its runs were too short to be sampled"


@dataclass(frozen=True)
class Energy:
    """Joules over some seconds, in which `samples` samples were processed; how it was found."""

    joules: float
    seconds: float
    samples: int
    source: str


def settled(samples: Sequence[GpuSample]) -> tuple[Sequence[GpuSample], float]:
    """Samples that no longer show what ran before, and the seconds into a run they begin at."""
    for settle_s in SETTLE_S:
        late = [sample for sample in samples if sample.into_run_s >= settle_s]
        if len(late) >= ENOUGH_SAMPLES:
            break
    return late, settle_s


def mean_over_gpus(
    samples: Sequence[GpuSample], gpus: Sequence[str], what: Callable[[GpuSample], Reading[float]]
) -> Reading[float]:
    """Mean over time on each GPU, then over the arm's GPUs; null unless every GPU was read."""
    means = _means(samples, gpus, what)
    if means.value is None:
        return Reading(None, means.reason)
    return Reading(sum(means.value) / len(means.value), samples=means.samples)


def energy(windows: Sequence[Window], samples: Sequence[GpuSample]) -> Reading[Energy]:
    """Energy of the arm's GPUs while it ran: by the GPUs' counters, else mean power x time.

    Counters move in steps of some 20-100 ms, so a sum over several runs is better than its parts.
    `samples` are settled ones.
    """
    if not windows:
        return Reading(None, "no run was measured")
    joules, reason = 0.0, None
    for window in windows:
        used = _counted_j(window)
        if used.value is None:
            reason = used.reason
            break
        joules += used.value
    seconds = sum(window.seconds for window in windows)
    trained = sum(window.samples for window in windows)
    if reason is None:
        return Reading(Energy(joules, seconds, trained, "energy counter"), samples=len(windows))
    means = _means(samples, windows[0].gpus, lambda sample: sample.power_w)
    if means.value is None:
        return Reading(None, f"{reason}; power: {means.reason}")
    found = Energy(sum(means.value) * seconds, seconds, trained, "mean power x time")
    return Reading(found, samples=means.samples)


def gpu_memory_bytes(windows: Sequence[Window], matched: bool) -> Reading[int]:
    """Peak over the ends of runs of what the arm's processes hold on its GPUs.

    `matched` is `pids_are_ours` over both arms. The other arm's memory is not in it.
    """
    peak = None
    for window in windows:
        held = 0
        for reading in window.processes.values():
            if reading.value is None:
                return Reading(None, reading.reason)
            for process in reading.value:
                if process.pid not in window.arm_pids:
                    continue
                if process.memory_bytes is None:
                    return Reading(None, "the driver does not tell memory by process")
                held += process.memory_bytes
        peak = max(peak or 0, held) if held else peak
    if peak is None:
        reason = "the driver lists none of its processes"
        reason += "" if matched else f": {OTHER_NAMESPACE}"
        return Reading(None, reason)
    return Reading(peak, samples=len(windows))


def limited_share(samples: Sequence[GpuSample], gpus: Sequence[str], bits: int) -> Reading[float]:
    """Share of looks in which one of these clock reasons held a GPU of the arm down."""
    return mean_over_gpus(
        samples,
        gpus,
        lambda sample: Reading(
            None
            if sample.clock_reason_bits.value is None
            else float(bool(sample.clock_reason_bits.value & bits)),
            sample.clock_reason_bits.reason,
        ),
    )


def peak_device_memory_bytes(samples: Sequence[GpuSample], gpus: Sequence[str]) -> Reading[int]:
    """Peak memory in use on the arm's GPUs by anybody, the paused arm among them; summed."""
    total = looks = 0
    for gpu in gpus:
        readings = [sample.memory_used_bytes for sample in samples if sample.gpu == gpu]
        values = [reading.value for reading in readings if reading.value is not None]
        if not values:
            return Reading(None, readings[-1].reason if readings else TOO_SHORT)
        total += max(values)
        looks += len(values)
    return Reading(total, samples=looks)


def _counted_j(window: Window) -> Reading[float]:
    total = 0.0
    for gpu in window.gpus:
        before, after = window.begin.energy_j.get(gpu), window.end.energy_j.get(gpu)
        if before is None or after is None:
            return Reading(None, "the energy counter was not read")
        if before.value is None or after.value is None:
            return Reading(None, after.reason or before.reason)
        if after.value < before.value:
            return Reading(None, "the energy counter went back")
        total += after.value - before.value
    return Reading(total)


def _means(
    samples: Sequence[GpuSample], gpus: Sequence[str], what: Callable[[GpuSample], Reading[float]]
) -> Reading[list[float]]:
    """One mean over time for each GPU, or the last reason of the first GPU that has none."""
    means, looks = [], 0
    for gpu in gpus:
        readings = [what(sample) for sample in samples if sample.gpu == gpu]
        values = [reading.value for reading in readings if reading.value is not None]
        if not values:
            reason = readings[-1].reason if readings else TOO_SHORT
            return Reading(None, reason)
        means.append(sum(values) / len(values))
        looks += len(values)
    return Reading(means, samples=looks) if means else Reading(None, NO_GPU)
