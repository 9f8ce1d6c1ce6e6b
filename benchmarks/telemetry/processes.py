"""What a tree of processes has used: CPU seconds, memory, disk; and what the whole system has used.

Counters are cumulative, so that reading them costs nothing while something is being timed: read
before, read after, subtract. Processes come and go while they are being read; one that vanished
is left out, never an error.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import psutil

from benchmarks.telemetry.cpu import affinity_cores

_GONE = (psutil.Error, OSError)

LOADER_WORKER = "pt_data_worker"  # what torch names it, on Linux
CPU_PARTS = ("user", "system", "children_user", "children_system")
Core = TypeVar("Core")


@dataclass(frozen=True, slots=True)
class Process:
    """Parent, process group (None: there are none) and CPU seconds with reaped children's.

    A DataLoader worker's name is LOADER_WORKER.
    """

    parent: int
    group: int | None
    cpu_s: float
    name: str = ""


Table = Mapping[int, Process]  # by pid


@dataclass(frozen=True)
class Resident:
    """Memory of some processes in bytes, and how it was counted: "pss" or "rss".

    PSS splits every shared page among those who map it, so a sum counts it once. What a fork
    server preloaded is shared with the other arm and with the server, hence an arm's PSS is less
    than it would be alone. RSS counts shared pages once per process: a sum is too high.
    `shared_bytes` is the part in shared memory (/dev/shm, by which loader workers hand over
    batches), or None where the system does not tell.
    """

    bytes: int
    kind: str
    shared_bytes: int | None = None


@dataclass(frozen=True)
class SystemCpu:
    """Seconds since boot that processes ran on `cores` cores, and that the hypervisor took away."""

    busy_s: float
    steal_s: float
    cores: int


def snapshot() -> Table:
    """All processes now, in one pass: everything else here is a function of such a table.

    One pass costs some milliseconds, a pass for each tree and question many times that.
    """
    return _linux_snapshot() if Path("/proc/self/stat").exists() else _portable_snapshot()


def tree_pids(table: Table, leader: int) -> frozenset[int]:
    """The leader, its descendants, and everything in the process group that it leads.

    The group catches a child whose parent died: it hangs below init by then, outside the tree.
    Empty where the leader is gone and left no group.
    """
    children: dict[int, list[int]] = {}
    for pid, process in table.items():
        children.setdefault(process.parent, []).append(pid)
    found: set[int] = set()
    waiting = [pid for pid, process in table.items() if leader in (pid, process.group)]
    while waiting:
        pid = waiting.pop()
        if pid not in found:
            found.add(pid)
            waiting += children.get(pid, ())
    return frozenset(found)


def cpu_seconds(table: Table, pids: Iterable[int]) -> float | None:
    """CPU seconds of these processes so far, with those of their reaped children.

    A finished child's time moves to its parent when the parent waits for it. Counting the reaped
    keeps a tree's total from falling when a loader worker ends, and counts nothing twice, since
    what was reaped is no longer in the table. None where none of `pids` is there.
    """
    known = [table[pid].cpu_s for pid in pids if pid in table]
    return sum(known) if known else None


def resident(pids: Iterable[int]) -> Resident | None:
    """Memory of these processes now: PSS where the system tells it (Linux), else RSS.

    One process whose PSS is refused makes the whole sum RSS: the two must not be mixed. None
    where no process could be read.
    """
    pids = tuple(pids)
    pss, shared, rss = [], [], []
    for pid in pids:
        try:
            text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
        except PermissionError:
            break
        except _GONE:
            continue
        held = parse_rollup_bytes(text, "Pss")
        if held is not None:  # else a zombie: its memory is gone
            pss.append(held)
            shared.append(parse_rollup_bytes(text, "Pss_Shmem"))
    else:
        if pss:
            told = [each for each in shared if each is not None]
            return Resident(sum(pss), "pss", sum(told) if len(told) == len(pss) else None)
    for pid in pids:
        try:
            rss.append(int(psutil.Process(pid).memory_info().rss))
        except _GONE:
            continue
    return Resident(sum(rss), "rss") if rss else None


def disk_read_bytes(pids: Iterable[int]) -> int | None:
    """Bytes that these processes, and children they reaped, have had read from a disk so far.

    What the page cache held already is not in it. None where no process tells.
    """
    told = []
    for pid in pids:
        try:
            told.append(int(psutil.Process(pid).io_counters().read_bytes))
        except (*_GONE, AttributeError):  # AttributeError: macOS counts none
            continue
    return sum(told) if told else None


def cpu_pressure_s() -> float | None:
    """Seconds since boot in which some runnable task of the machine waited for a core.

    None where the kernel does not tell (Linux with pressure stall information does).
    """
    try:
        return parse_pressure_s(Path("/proc/pressure/cpu").read_text(encoding="ascii"))
    except OSError:
        return None


def parse_pressure_s(text: str) -> float | None:
    """The total of the `some` line of a /proc/pressure file, which is in microseconds."""
    for line in text.splitlines():
        kind, _, values = line.partition(" ")
        if kind == "some":
            return int(values.rpartition("total=")[2]) / 1e6
    return None


def load_average() -> float | None:
    """Tasks running or waiting to run, over the last minute and the whole machine."""
    try:
        return os.getloadavg()[0]
    except (AttributeError, OSError):  # Windows
        return None


def system_cpu() -> SystemCpu | None:
    """Time used by all processes of the machine on the cores that this process may use.

    Time in interrupts is left out: it is no process's. None where the system does not tell
    (some sandboxes show zeros only).
    """
    try:
        cores = _own_cores(psutil.cpu_times(percpu=True))
    except (*_GONE, ValueError):  # /proc/stat hidden or of another shape
        return None
    busy = sum(core.user + core.system + getattr(core, "nice", 0.0) for core in cores)
    if busy + sum(core.idle for core in cores) == 0:
        return None
    return SystemCpu(busy, sum(getattr(core, "steal", 0.0) for core in cores), len(cores))


def parse_rollup_bytes(smaps_rollup: str, field: str) -> int | None:
    """A line of smaps_rollup (kB) in bytes, or None where there is none."""
    for line in smaps_rollup.splitlines():
        name, _, rest = line.partition(":")
        if name == field:
            return int(rest.split()[0]) * 1024
    return None


def _linux_snapshot() -> dict[int, Process]:
    tick_s = 1 / os.sysconf("SC_CLK_TCK")
    table = {}
    for name in os.listdir("/proc"):  # noqa: PTH208 - a Path for each entry triples the cost
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123 - likewise
                table[int(name)] = parse_stat(file.read(), tick_s)
        except (OSError, ValueError):  # it ended while it was being read
            continue
    return table


def parse_stat(stat: bytes, tick_s: float) -> Process:
    """A line of /proc/PID/stat (see proc(5)); the name in it may hold blanks and brackets."""
    opened, closed = stat.index(b"("), stat.rindex(b")")
    name = stat[opened + 1 : closed].decode(errors="replace")
    fields = stat[closed + 2 :].split(None, 15)
    ticks = sum(int(each) for each in fields[11:15])  # user, system, and both of reaped children
    return Process(int(fields[1]), int(fields[2]), ticks * tick_s, name)


def _portable_snapshot() -> dict[int, Process]:
    table = {}
    for process in psutil.process_iter(["ppid", "cpu_times", "name"]):
        times = process.info["cpu_times"]
        try:
            group = os.getpgid(process.pid) if hasattr(os, "getpgid") else None
        except OSError:
            group = None
        parts = (getattr(times, part, 0.0) for part in CPU_PARTS) if times else ()
        name = process.info["name"] or ""
        table[process.pid] = Process(process.info["ppid"] or 0, group, sum(parts), name)
    return table


def _own_cores(cores: list[Core]) -> list[Core]:
    """Those in this process's affinity; all where numbers do not match (a core is offline)."""
    if not hasattr(os, "sched_getaffinity") or len(cores) != os.cpu_count():
        return cores
    own = [core for number, core in enumerate(cores) if number in os.sched_getaffinity(0)]
    return own if len(own) == affinity_cores() else cores
