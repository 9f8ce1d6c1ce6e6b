"""Who else used the machine while the arms ran: pure functions, and the notes a record carries."""

from collections.abc import Iterable, Mapping, Sequence

from benchmarks.telemetry.clock_reasons import throttling
from benchmarks.telemetry.readings import Reading
from benchmarks.telemetry.windows import NO_GPU, UNREAD, GpuSample, Window

FOREIGN_CPU = 0.10  # of the cores: below that the rounding of CPU ticks shows
STEAL = 0.05
OTHER_NAMESPACE = "its pids are of another namespace, as in a container"


def notes(windows: Sequence[Window], samples: Sequence[GpuSample]) -> list[str]:
    """Sentences on what disturbed the runs; silent on what cannot be known."""
    return [
        *_cpu_notes(windows),
        *_foreign_gpu_notes(windows),
        *_throttle_notes(samples),
    ]


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
