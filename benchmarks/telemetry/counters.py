"""What an arm did between the edges of its runs: by process, on the disk, inside its GPUs.

Pure functions over `Window`s. Each is a difference of counters over the arm's own time, so it is
exact over a run and cost the run nothing; a counter that went back or was not read is unknown.
"""

from collections.abc import Callable, Mapping, Sequence

from benchmarks.telemetry.gpm import SHORTEST_S
from benchmarks.telemetry.processes import LOADER_WORKER, Resident
from benchmarks.telemetry.readings import Reading, Traffic
from benchmarks.telemetry.windows import NO_GPU, UNREAD, GpuSample, Window

NEGLIGIBLE_PCT = 0.5  # of a core: helpers that only wait, such as the resource tracker


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


def cpu_by_process_pct(windows: Sequence[Window]) -> Reading[Mapping[str, float]]:
    """CPU use of each process of the arm's tree, 100 being one core, busiest kind first.

    Keys are "training0", "training1", ... (ranks, and an agent that does more than wait) and
    "worker0", ... (loader workers), numbered by pid: the order in which they were started. Over
    several starts the same number is the same role, and the mean over them is given.
    """
    used: dict[str, float] = {}
    seconds: dict[str, float] = {}
    for window in windows:
        before, after = window.begin.arm_table, window.end.arm_table
        kept = sorted(pid for pid in after if pid in before)
        count = {"training": 0, "worker": 0}
        for pid in kept:
            kind = "worker" if after[pid].name == LOADER_WORKER else "training"
            name = f"{kind}{count[kind]}"
            count[kind] += 1
            used[name] = used.get(name, 0.0) + after[pid].cpu_s - before[pid].cpu_s
            seconds[name] = seconds.get(name, 0.0) + window.seconds
    shares = {name: 100 * used[name] / seconds[name] for name in used if seconds[name] > 0}
    if not shares:
        return Reading(None, "its processes were gone")
    shown = {name: max(0.0, pct) for name, pct in shares.items() if pct >= NEGLIGIBLE_PCT}
    return Reading(
        shown or {"training0": max(0.0, shares.get("training0", 0.0))}, None, len(windows)
    )


def peak_resident(windows: Sequence[Window]) -> Reading[Resident]:
    """Largest memory of the arm's tree at the ends of runs; PSS alone where there is any."""
    seen = [window.resident for window in windows if window.resident is not None]
    best = [each for each in seen if each.kind == "pss"] or seen
    if not best:
        return Reading(None, "its processes were gone, or their memory could not be read")
    return Reading(max(best, key=lambda each: each.bytes), samples=len(best))


def disk_read_bytes_per_s(windows: Sequence[Window]) -> Reading[float]:
    """Bytes a second that the arm's processes had read from a disk; the page cache is none."""
    return _rate(
        windows,
        lambda window: (window.begin.disk_read_bytes, window.end.disk_read_bytes),
        "the system does not tell what its processes read",
    )


def cpu_pressure_share(windows: Sequence[Window]) -> Reading[float]:
    """Share of the arm's time in which some task of the machine waited for a core."""
    return _rate(
        windows,
        lambda window: (window.begin.pressure_s, window.end.pressure_s),
        "this kernel has no pressure stall information",
    )


def load_average(windows: Sequence[Window]) -> Reading[float]:
    """Mean of the machine's load averages at the ends of runs: each looks back a minute."""
    seen = [window.load_average for window in windows if window.load_average is not None]
    if not seen:
        return Reading(None, "the system has no load average")
    return Reading(sum(seen) / len(seen), samples=len(seen))


def gpm(windows: Sequence[Window], gpus: Sequence[str], metric: str) -> Reading[float]:
    """One of gpm.METRICS: mean over the arm's time, then over its GPUs."""
    return _over_gpus(windows, gpus, lambda window, gpu: _gpm_of(window, gpu, metric))


def _gpm_of(window: Window, gpu: str, metric: str) -> Reading[float]:
    if window.seconds < SHORTEST_S:
        return Reading(None, f"its runs were shorter than {SHORTEST_S:g} s")
    return window.gpm.get(gpu, {}).get(metric, UNREAD)


def pcie_per_s(
    windows: Sequence[Window], samples: Sequence[GpuSample], gpus: Sequence[str]
) -> Reading[Traffic]:
    """Bytes a second of one GPU over PCIe, mean over the arm's: by counters, else by looks."""
    counted = _traffic(windows, gpus, lambda window: (window.begin.pcie, window.end.pcie))
    if counted.value is not None:
        return counted
    asked = [sample.pcie_per_s for sample in samples if sample.pcie_per_s is not None]
    seen = [each.value for each in asked if each.value is not None]
    if not seen:
        return Reading(None, asked[-1].reason if asked else counted.reason)
    return Reading(
        Traffic(
            sum(each.sent_bytes for each in seen) / len(seen),
            sum(each.received_bytes for each in seen) / len(seen),
        ),
        samples=len(seen),
    )


def nvlink_per_s(windows: Sequence[Window], gpus: Sequence[str]) -> Reading[Traffic]:
    """Payload bytes a second of one GPU over all its NVLinks, mean over the arm's GPUs."""
    return _traffic(windows, gpus, lambda window: (window.begin.nvlink, window.end.nvlink))


def power_cap_w(windows: Sequence[Window], gpus: Sequence[str]) -> Reading[float]:
    """The limits that the driver enforced on the arm's GPUs, summed, at the end of its last run."""
    if not windows or not gpus:
        return Reading(None, NO_GPU)
    caps = [windows[-1].power_cap_w.get(gpu, UNREAD) for gpu in gpus]
    unknown = next((cap.reason for cap in caps if cap.value is None), None)
    return Reading(None, unknown) if unknown else Reading(sum(cap.value or 0.0 for cap in caps))


def _rate(
    windows: Sequence[Window],
    edges: Callable[[Window], tuple[float | None, float | None]],
    reason: str,
) -> Reading[float]:
    total = seconds = 0.0
    counted = 0
    for window in windows:
        before, after = edges(window)
        if before is None or after is None or after < before or window.seconds <= 0:
            continue
        total += after - before
        seconds += window.seconds
        counted += 1
    return Reading(None, reason) if not counted else Reading(total / seconds, samples=counted)


def _traffic(
    windows: Sequence[Window],
    gpus: Sequence[str],
    edges: Callable[
        [Window], tuple[Mapping[str, Reading[Traffic]], Mapping[str, Reading[Traffic]]]
    ],
) -> Reading[Traffic]:
    def direction(part: Callable[[Traffic], float]) -> Reading[float]:
        return _over_gpus(
            windows, gpus, lambda window, gpu: _difference(window, gpu, edges(window), part)
        )

    sent = direction(lambda traffic: traffic.sent_bytes)
    received = direction(lambda traffic: traffic.received_bytes)
    if sent.value is None or received.value is None:
        return Reading(None, sent.reason or received.reason)
    return Reading(Traffic(sent.value, received.value), samples=sent.samples)


def _difference(
    window: Window,
    gpu: str,
    edges: tuple[Mapping[str, Reading[Traffic]], Mapping[str, Reading[Traffic]]],
    part: Callable[[Traffic], float],
) -> Reading[float]:
    unread = Reading[Traffic](None, UNREAD.reason)
    before, after = (edge.get(gpu, unread) for edge in edges)
    if before.value is None or after.value is None:
        return Reading(None, after.reason or before.reason)
    moved = part(after.value) - part(before.value)
    if moved < 0:
        return Reading(None, "its counter went back")
    return Reading(moved / window.seconds) if window.seconds > 0 else UNREAD


def _over_gpus(
    windows: Sequence[Window],
    gpus: Sequence[str],
    what: Callable[[Window, str], Reading[float]],
) -> Reading[float]:
    """Mean over time on each GPU, then over GPUs; null unless every GPU has a known run."""
    means, counted = [], 0
    for gpu in gpus:
        readings = [(what(window, gpu), window.seconds) for window in windows]
        known = [(each.value, s) for each, s in readings if each.value is not None and s > 0]
        if not known:
            return Reading(None, readings[-1][0].reason if readings else NO_GPU)
        means.append(sum(value * s for value, s in known) / sum(s for _, s in known))
        counted += len(known)
    return Reading(sum(means) / len(means), samples=counted) if means else Reading(None, NO_GPU)
