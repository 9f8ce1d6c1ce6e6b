"""What a tree of processes has used: CPU seconds and memory; and what the whole system has used.

Counters are cumulative, so that reading them costs nothing while something is being timed: read
before, read after, subtract. Processes come and go while they are being read; one that vanished
is left out, never an error.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import psutil

from benchmarks.cpu import affinity_cores

_GONE = (psutil.Error, OSError)

Core = TypeVar("Core")


@dataclass(frozen=True)
class Resident:
    """Memory of some processes in bytes, and how it was counted: "pss" or "rss".

    PSS splits every shared page among those who map it, so a sum counts it once. What a fork
    server preloaded is shared with the other arm and with the server, hence an arm's PSS is less
    than it would be alone. RSS counts shared pages once per process: a sum is too high.
    """

    bytes: int
    kind: str


@dataclass(frozen=True)
class SystemCpu:
    """Seconds since boot that processes ran on `cores` cores, and that the hypervisor took away."""

    busy_s: float
    steal_s: float
    cores: int


def tree_pids(leader: int) -> frozenset[int]:
    """The leader, its descendants, and everything in the process group that it leads.

    The group catches a child whose parent died: it hangs below init by then, outside the tree.
    Empty where the leader is gone and left no group.
    """
    pids = {leader}
    try:
        pids |= {child.pid for child in psutil.Process(leader).children(recursive=True)}
    except _GONE:
        pids = set()
    return frozenset(pids | _group_pids(leader))


def cpu_seconds(pids: Iterable[int]) -> float | None:
    """CPU seconds of these processes so far, user and system, with those of reaped children.

    A finished child's time moves to its parent when the parent waits for it. Counting the reaped
    keeps a tree's total from falling when a loader worker ends, and counts nothing twice, since
    what was reaped is no longer among `pids`. None where no process could be read.
    """
    total = None
    for pid in pids:
        try:
            times = psutil.Process(pid).cpu_times()
        except _GONE:
            continue
        reaped = getattr(times, "children_user", 0.0) + getattr(times, "children_system", 0.0)
        total = (total or 0.0) + times.user + times.system + reaped
    return total


def resident(pids: Iterable[int]) -> Resident | None:
    """Memory of these processes now: PSS where the system tells it (Linux), else RSS.

    One process whose PSS is refused makes the whole sum RSS: the two must not be mixed. None
    where no process could be read.
    """
    pids = tuple(pids)
    by_kind: dict[str, list[int]] = {"pss": [], "rss": []}
    for pid in pids:
        try:
            by_kind["pss"].append(_pss_bytes(pid))
        except PermissionError:
            break
        except _GONE:
            continue
    else:
        if by_kind["pss"]:
            return Resident(sum(by_kind["pss"]), "pss")
    for pid in pids:
        try:
            by_kind["rss"].append(int(psutil.Process(pid).memory_info().rss))
        except _GONE:
            continue
    return Resident(sum(by_kind["rss"]), "rss") if by_kind["rss"] else None


def system_cpu() -> SystemCpu | None:
    """Time used by all processes of the machine on the cores that this process may use.

    Time in interrupts is left out: it is no process's. None where the system does not tell
    (some sandboxes show zeros only).
    """
    cores = _own_cores(psutil.cpu_times(percpu=True))
    busy = sum(core.user + core.system + getattr(core, "nice", 0.0) for core in cores)
    if busy + sum(core.idle for core in cores) == 0:
        return None
    return SystemCpu(busy, sum(getattr(core, "steal", 0.0) for core in cores), len(cores))


def parse_pss_bytes(smaps_rollup: str) -> int | None:
    """The `Pss:` line of smaps_rollup (kB) in bytes, or None where there is none."""
    for line in smaps_rollup.splitlines():
        name, _, rest = line.partition(":")
        if name == "Pss":
            return int(rest.split()[0]) * 1024
    return None


def _pss_bytes(pid: int) -> int:
    text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    pss = parse_pss_bytes(text)
    if pss is None:  # a zombie: its memory is gone
        raise ProcessLookupError(pid)
    return pss


def _group_pids(leader: int) -> set[int]:
    if not hasattr(os, "getpgid"):  # Windows
        return set()
    pids = set()
    for pid in psutil.pids():
        try:
            if os.getpgid(pid) == leader:
                pids.add(pid)
        except OSError:
            continue
    return pids


def _own_cores(cores: list[Core]) -> list[Core]:
    """Those in this process's affinity; all where numbers do not match (a core is offline)."""
    if not hasattr(os, "sched_getaffinity") or len(cores) != os.cpu_count():
        return cores
    own = [core for number, core in enumerate(cores) if number in os.sched_getaffinity(0)]
    return own if len(own) == affinity_cores() else cores
