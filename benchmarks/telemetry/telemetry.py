"""Telemetry beside the timed blocks: who used how much CPU, memory and GPU while which arm ran.

Two arms are alive at once and take turns. CPU time, disk reads, energy, traffic, memory and the
GPUs' performance counters are read at the two edges of a run, which costs the blocks nothing. What
a GPU tells only as of now (utilization, power, clocks) is sampled ten times a second by one thread
of this process, each sample tagged with the arm that runs; without GPUs there is no thread and no
driver is touched.
"""

import math
import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol, Self

from benchmarks.telemetry import processes, strangers
from benchmarks.telemetry.account import summarise
from benchmarks.telemetry.gpm import Gpm
from benchmarks.telemetry.nvml import Nvml, NvmlGpu
from benchmarks.telemetry.readings import Reading, Traffic
from benchmarks.telemetry.windows import Edge, GpuSample, Window

PERIOD_S = 0.1
# Adding up a torch process's shared pages takes the kernel some 25 ms, each loader worker's
# likewise: once in each start, when warm-up is over, and seldom after that.
MEMORY_EVERY_S = 5.0
# Without a counter, PCIe traffic takes the driver 40 ms to tell: in every tenth look only.
PCIE_EVERY = 10


class System(Protocol):
    """What is asked of the operating system; the module `telemetry.processes` answers."""

    def snapshot(self) -> processes.Table:
        """All processes now."""

    def resident(self, pids: frozenset[int], /) -> processes.Resident | None:
        """Their memory now."""

    def system_cpu(self) -> processes.SystemCpu | None:
        """The whole system's CPU seconds so far."""

    def disk_read_bytes(self, pids: frozenset[int], /) -> int | None:
        """What they have had read from a disk so far."""

    def cpu_pressure_s(self) -> float | None:
        """Seconds so far in which some task waited for a core."""

    def load_average(self) -> float | None:
        """Over the last minute."""


@dataclass(frozen=True)
class _Arm:
    pid: int
    gpus: tuple[str, ...]


@dataclass(frozen=True)
class _Trees:
    """Who was there: all processes, those of the running arm, those of the whole suite."""

    table: processes.Table
    arm: frozenset[int]
    ours: frozenset[int]


@dataclass(frozen=True)
class _Running:
    arm: str
    trees: _Trees
    begin: Edge


class Telemetry:
    """Watches the arms of one cell, over all its starts; a context manager.

    `gpus` are the UUIDs of the GPUs that will be used ("GPU-..." or "MIG-..."). Call, per start,
    `arm_started` for each arm, then `run_begins` and `run_ends` around each run of blocks; both
    belong outside the timed part. Nothing raises for what cannot be read.
    """

    def __init__(
        self,
        gpus: Sequence[str] = (),
        clock: Callable[[], float] = time.monotonic,
        *,
        period_s: float = PERIOD_S,
        system: System = processes,
        own_pid: int | None = None,
    ) -> None:
        self._clock = clock
        self._period_s = period_s
        self._system = system
        self._own_pid = os.getpid() if own_pid is None else own_pid
        self._nvml = Nvml(gpus) if gpus else None
        self._arms: dict[str, _Arm] = {}
        self._memory_read_s: dict[str, float] = {}
        self._running: _Running | None = None
        self._windows: list[Window] = []
        self._samples: list[GpuSample] = []
        self._gpms: dict[str, Gpm] = {}
        self._looked = 0
        self._closing = threading.Event()
        self._sampler: threading.Thread | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the sampler and release the driver; summaries and notes stay readable."""
        self._running = None
        self._closing.set()
        if self._sampler is not None:
            self._sampler.join()
            self._sampler = None
        for gpm in self._gpms.values():
            gpm.close()
        if self._nvml is not None:
            self._nvml.close()

    def arm_started(self, arm: str, pid: int, gpus: Sequence[str] = ()) -> None:
        """`arm` now runs in the process tree of `pid` (a group leader) on these GPUs (UUIDs)."""
        self._arms[arm] = _Arm(pid, tuple(gpus))
        self._memory_read_s.pop(arm, None)
        if gpus and self._nvml is None:
            self._nvml = Nvml(gpus)
        if gpus and self._sampler is None and not self._closing.is_set():
            self._sampler = threading.Thread(target=self._sample, name="telemetry", daemon=True)
            self._sampler.start()

    def run_begins(self, arm: str) -> None:
        """The next block is `arm`'s; a run that did not end is forgotten."""
        self._running = None
        trees = self._trees(arm)
        read = self._standing_counters(trees) | self._going_counters(arm)
        for gpu in self._arms[arm].gpus:
            self._gpm(gpu).begin()
        # The clock last here and first at the end: what reading costs stays outside.
        self._running = _Running(arm, trees, Edge(at_s=self._clock(), **read))

    def run_ends(self, arm: str, samples: int) -> None:
        """`arm` has processed `samples` training samples since its run began."""
        at_s = self._clock()
        running, self._running = self._running, None
        if running is None or running.arm != arm:
            return
        gpus = self._arms[arm].gpus
        gpm = {gpu: self._gpm(gpu).end() for gpu in gpus}
        read = self._going_counters(arm)
        # The GPUs' processes before the trees: one that just started must not look foreign.
        on_gpus = {gpu: self._gpu(gpu).processes() for gpu in gpus}
        trees = self._trees(arm)
        self._windows.append(
            Window(
                arm=arm,
                gpus=gpus,
                samples=samples,
                begin=running.begin,
                end=Edge(at_s=at_s, **read, **self._standing_counters(trees)),
                resident=self._resident(arm, trees.arm, at_s),
                arm_pids=running.trees.arm | trees.arm,
                our_pids=running.trees.ours | trees.ours,
                processes=on_gpus,
                memory_used={gpu: self._gpu(gpu).memory_used_bytes() for gpu in gpus},
                power_cap_w={gpu: self._gpu(gpu).power_cap_w() for gpu in gpus},
                gpm=gpm,
                load_average=self._system.load_average(),
            )
        )

    def summary(self, arm: str) -> dict[str, Any]:
        """What `arm` used, ready for a record: the record's telemetry fields and more.

        Unknown is None, and `reasons` says why, by field. `sources` says how a value was found,
        `readings` from how many readings it was made, `counts` how many runs and looks there were.
        """
        return summarise(arm, self._windows, tuple(self._samples))

    def notes(self) -> list[str]:
        """Sentences on foreign load, steal and throttling during the runs of either arm."""
        return strangers.notes(self._windows, tuple(self._samples))

    def _trees(self, arm: str) -> _Trees:
        table = self._system.snapshot()
        trees = {name: processes.tree_pids(table, each.pid) for name, each in self._arms.items()}
        ours = processes.tree_pids(table, self._own_pid).union(*trees.values())
        return _Trees(table, trees[arm], ours)

    def _resident(self, arm: str, pids: frozenset[int], at_s: float) -> processes.Resident | None:
        if at_s - self._memory_read_s.get(arm, -math.inf) < MEMORY_EVERY_S:
            return None
        self._memory_read_s[arm] = at_s
        return self._system.resident(pids)

    def _going_counters(self, arm: str) -> dict[str, Any]:
        """The fields of an `Edge` that go on while the arm is paused: read next to the clock."""
        gpus = {gpu: self._gpu(gpu) for gpu in self._arms[arm].gpus}
        return {
            "energy_j": {uuid: gpu.energy_j() for uuid, gpu in gpus.items()},
            "pcie": {uuid: gpu.pcie_counter() for uuid, gpu in gpus.items()},
            "nvlink": {uuid: gpu.nvlink_counter() for uuid, gpu in gpus.items()},
            "system": self._system.system_cpu(),
            "pressure_s": self._system.cpu_pressure_s(),
        }

    def _standing_counters(self, trees: _Trees) -> dict[str, Any]:
        """The fields of an `Edge` that stand still while the arm is paused."""
        return {
            "arm_cpu_s": processes.cpu_seconds(trees.table, trees.arm),
            "our_cpu_s": processes.cpu_seconds(trees.table, trees.ours),
            "arm_table": {pid: trees.table[pid] for pid in trees.arm},
            "disk_read_bytes": self._system.disk_read_bytes(trees.arm),
        }

    def _gpm(self, uuid: str) -> Gpm:
        if uuid not in self._gpms:
            self._gpms[uuid] = Gpm(self._gpu(uuid))
        return self._gpms[uuid]

    def _gpu(self, uuid: str) -> NvmlGpu:
        assert self._nvml is not None, "arm_started opens the driver for an arm with GPUs"
        return self._nvml.gpu(uuid)

    def _sample(self) -> None:
        while not self._closing.wait(self._period_s):
            running = self._running
            if running is None:
                continue
            looks = [self._look(running, gpu) for gpu in self._arms[running.arm].gpus]
            if self._running is running:  # else the turn changed while the GPUs were asked
                self._samples += looks

    def _look(self, running: _Running, uuid: str) -> GpuSample:
        gpu = self._gpu(uuid)
        busy = gpu.utilization()
        return GpuSample(
            arm=running.arm,
            gpu=uuid,
            into_run_s=self._clock() - running.begin.at_s,
            utilization_pct=Reading(busy.value.gpu_pct if busy.value else None, busy.reason),
            memory_utilization_pct=Reading(
                busy.value.memory_pct if busy.value else None, busy.reason
            ),
            power_w=gpu.power_w(),
            memory_used_bytes=gpu.memory_used_bytes(),
            sm_clock_mhz=gpu.sm_clock_mhz(),
            memory_clock_mhz=gpu.memory_clock_mhz(),
            pcie_per_s=self._pcie_per_s(running, gpu),
            temperature_c=gpu.temperature_c(),
            clock_reason_bits=gpu.clock_reason_bits(),
        )

    def _pcie_per_s(self, running: _Running, gpu: NvmlGpu) -> Reading[Traffic] | None:
        """Now and then, and only where the driver has no counter."""
        self._looked += 1
        counted = running.begin.pcie[gpu.uuid].value is not None
        return None if counted or self._looked % PCIE_EVERY != 1 else gpu.pcie_per_s()
