"""Whose load was it: pure functions from counters and samples to numbers per arm, and to notes.

A `Window` is one arm's run of blocks with the cumulative counters read at its two edges; a
`GpuSample` is what the sampler saw while an arm ran. Nothing here reads a clock, a process or
a driver, so every rule can be tested on made-up numbers.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from benchmarks.gpm import Metrics
from benchmarks.nvml import GpuProcess, Reading, Traffic, throttling
from benchmarks.processes import Resident, SystemCpu, Table

FOREIGN_CPU = 0.10  # of the cores: below that the rounding of CPU ticks shows
STEAL = 0.05
# A driver's utilization and power look back over up to a second: early samples still show the
# other arm. Where runs are too short for samples past one second, those past the shortest
# period (1/6 s) are taken, and the summary says so.
SETTLE_S = (1.0, 1 / 6)
ENOUGH_SAMPLES = 5
OTHER_NAMESPACE = "its pids are of another namespace, as in a container"
TOO_SHORT = "its runs were too short to be sampled"
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


@dataclass(frozen=True)
class Energy:
    """Joules over some seconds, in which `samples` samples were processed; how it was found."""

    joules: float
    seconds: float
    samples: int
    source: str


def cpu_utilization_pct(windows: Sequence[Window]) -> Reading[float]:
    """CPU time of the arm's tree over the time it ran; 100 is one core kept busy."""
    used = seconds = 0.0
    counted = 0
    for window in windows:
        before, after = window.begin.arm_cpu_s, window.end.arm_cpu_s
        if before is None or after is None or after < before or window.seconds <= 0:
            continue
        used += after - before
        seconds += window.seconds
        counted += 1
    if seconds == 0:
        return Reading(None, "its processes were gone, or took their CPU time with them")
    return Reading(100 * used / seconds, samples=counted)


def peak_resident(windows: Sequence[Window]) -> Reading[Resident]:
    """Largest memory of the arm's tree at the ends of runs; PSS alone where there is any."""
    seen = [window.resident for window in windows if window.resident is not None]
    best = [each for each in seen if each.kind == "pss"] or seen
    if not best:
        return Reading(None, "its processes were gone, or their memory could not be read")
    return Reading(max(best, key=lambda each: each.bytes), samples=len(best))


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


def pids_are_ours(windows: Iterable[Window]) -> bool:
    """True if the driver's pids can be matched: at least one was a process of ours.

    Inside a container the driver gives the host's pids, or none, and nothing can be told by them.
    """
    return any(
        process.pid in window.our_pids
        for window in windows
        for reading in window.processes.values()
        for process in reading.value or ()
    )


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


def others_gpu_memory_bytes(windows: Sequence[Window], matched: bool) -> Reading[int]:
    """Peak over the ends of runs of the memory in use on the arm's GPUs that is not the suite's.

    The other arm's memory is the suite's. What the driver needs for a context counts for whoever
    has one. `matched` is `pids_are_ours` over both arms.
    """
    if not matched:
        return Reading(None, f"the driver lists none of our own processes: {OTHER_NAMESPACE}")
    peak = None
    for window in windows:
        others = 0
        for gpu, listed in window.processes.items():
            used = window.memory_used.get(gpu, UNREAD)
            if used.value is None or listed.value is None:
                return Reading(None, used.reason or listed.reason)
            ours = [each for each in listed.value if each.pid in window.our_pids]
            if any(each.memory_bytes is None for each in ours):
                return Reading(None, "the driver does not tell memory by process")
            others += int(used.value) - sum(each.memory_bytes or 0 for each in ours)
        peak = max(peak or 0, others)
    return Reading(None, NO_GPU) if peak is None else Reading(max(0, peak), samples=len(windows))


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


def notes(windows: Sequence[Window], samples: Sequence[GpuSample]) -> list[str]:
    """Sentences on what disturbed the runs; silent on what cannot be known."""
    return [
        *_cpu_notes(windows),
        *_foreign_gpu_notes(windows),
        *_throttle_notes(samples),
    ]


def foreign_cpu_cores(windows: Sequence[Window]) -> Reading[float]:
    """Mean number of cores that processes of others kept busy while either arm ran."""
    foreign = seconds = 0.0
    counted = 0
    for window in windows:
        begin, end = window.begin, window.end
        if not (begin.system and end.system and window.seconds > 0):
            continue
        if begin.our_cpu_s is None or end.our_cpu_s is None or end.our_cpu_s < begin.our_cpu_s:
            continue
        busy = end.system.busy_s - begin.system.busy_s
        foreign += busy - (end.our_cpu_s - begin.our_cpu_s)
        seconds += window.seconds
        counted += 1
    if seconds == 0:
        return Reading(None, "the system does not tell how busy its cores are")
    # ticks are rounded: a little below 0 is 0
    return Reading(max(0.0, foreign / seconds), samples=counted)


def foreign_gpu_processes(
    windows: Sequence[Window],
) -> Reading[Mapping[tuple[str, int], int | None]]:
    """Peak memory (None: not told) of others' compute processes, by GPU and the driver's pid."""
    readings = [reading for window in windows for reading in window.processes.values()]
    unread = next((reading.reason for reading in readings if reading.value is None), None)
    if unread is not None or not readings:
        return Reading(None, unread or NO_GPU)
    if not pids_are_ours(windows):
        return Reading(None, "the driver lists none of our own processes: " + OTHER_NAMESPACE)
    seen: dict[tuple[str, int], int | None] = {}
    for window in windows:
        for gpu, reading in window.processes.items():
            for process in reading.value or ():
                if process.pid not in window.our_pids:
                    known = (seen.get((gpu, process.pid)), process.memory_bytes)
                    seen[gpu, process.pid] = max((m for m in known if m is not None), default=None)
    return Reading(seen, samples=len(windows))


def steal_share(windows: Sequence[Window]) -> Reading[float]:
    """Share of the cores' time that the hypervisor gave to other machines."""
    stolen = core_seconds = 0.0
    for window in windows:
        begin, end = window.begin.system, window.end.system
        if begin and end and window.seconds > 0:
            stolen += end.steal_s - begin.steal_s
            core_seconds += window.seconds * end.cores
    if core_seconds == 0:
        return Reading(None, "the system does not tell how busy its cores are")
    return Reading(max(0.0, stolen / core_seconds), samples=len(windows))


def _cpu_notes(windows: Sequence[Window]) -> list[str]:
    said = []
    cores = next((window.end.system.cores for window in windows if window.end.system), 0)
    foreign, steal = foreign_cpu_cores(windows).value, steal_share(windows).value
    if foreign is not None and foreign > FOREIGN_CPU * cores:
        said.append(
            f"other processes used {foreign:.1f} of {cores} cores during the runs "
            f"({foreign / cores:.0%}): close them, or read the interval with care"
        )
    if steal is not None and steal > STEAL:
        said.append(f"the hypervisor gave {steal:.0%} of the cores' time to other machines (steal)")
    return said


def _foreign_gpu_notes(windows: Sequence[Window]) -> list[str]:
    return [
        f"another process (pid {pid}{'' if held is None else f', {held / 2**20:.0f} MiB'}) "
        f"computes on {gpu}: timings share that GPU with it"
        for (gpu, pid), held in (foreign_gpu_processes(windows).value or {}).items()
    ]


def _throttle_notes(samples: Sequence[GpuSample]) -> list[str]:
    looked: dict[str, int] = {}
    slowed: dict[tuple[str, str], int] = {}
    for sample in samples:
        bits = sample.clock_reason_bits.value
        if bits is None:
            continue
        looked[sample.gpu] = looked.get(sample.gpu, 0) + 1
        for cause in throttling(bits):
            slowed[sample.gpu, cause] = slowed.get((sample.gpu, cause), 0) + 1
    return [
        f"{gpu} was slowed in {count / looked[gpu]:.0%} of {looked[gpu]} looks: {cause}"
        for (gpu, cause), count in slowed.items()
    ]


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
