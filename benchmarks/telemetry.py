"""Telemetry beside the timed blocks: who used how much CPU, memory and GPU while which arm ran.

Two arms are alive at once and take turns. CPU time, energy and memory come from counters read at
the two edges of a run of blocks, which costs the blocks nothing. What a GPU tells only as of now
(utilization, power, clocks) is sampled ten times a second by one thread of this process, each
sample tagged with the arm that runs; without GPUs there is no thread and no driver is touched.
"""

import math
import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol, Self

from benchmarks import attribution, processes
from benchmarks.attribution import Edge, GpuSample, Window
from benchmarks.nvml import Nvml, Reading

PERIOD_S = 0.1
# Adding up a torch process's shared pages takes the kernel some 25 ms, each loader worker's
# likewise: once in each start, when warm-up is over, and seldom after that.
MEMORY_EVERY_S = 5.0
GPU_KEYS = ("gpu_utilization_pct", "gpu_memory_used_bytes", "gpu_power_w", "energy_j_per_sample")


class System(Protocol):
    """What is asked of the operating system; the module `benchmarks.processes` answers."""

    def snapshot(self) -> processes.Table:
        """All processes now."""

    def resident(self, pids: frozenset[int], /) -> processes.Resident | None:
        """Their memory now."""

    def system_cpu(self) -> processes.SystemCpu | None:
        """The whole system's CPU seconds so far."""


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
        system, energy_j = self._system.system_cpu(), self._energy_j(arm)
        # The clock last here and first at the end: what reading costs stays outside.
        self._running = _Running(arm, trees, self._edge(self._clock(), trees, system, energy_j))

    def run_ends(self, arm: str, samples: int) -> None:
        """`arm` has processed `samples` training samples since its run began."""
        at_s = self._clock()
        running, self._running = self._running, None
        if running is None or running.arm != arm:
            return
        energy_j, system = self._energy_j(arm), self._system.system_cpu()
        gpus = self._arms[arm].gpus
        # The GPUs' processes before the trees: one that just started must not look foreign.
        on_gpus = {gpu: self._gpu(gpu).processes() for gpu in gpus}
        trees = self._trees(arm)
        self._windows.append(
            Window(
                arm=arm,
                gpus=gpus,
                samples=samples,
                begin=running.begin,
                end=self._edge(at_s, trees, system, energy_j),
                resident=self._resident(arm, trees.arm, at_s),
                arm_pids=running.trees.arm | trees.arm,
                our_pids=running.trees.ours | trees.ours,
                processes=on_gpus,
            )
        )

    def summary(self, arm: str) -> dict[str, Any]:
        """What `arm` used, ready for a record: the record's telemetry fields and more.

        Unknown is None, and `reasons` says why, by field. `sources` says how a value was found,
        `counts` from how many runs and looks.
        """
        return summarise(arm, self._windows, tuple(self._samples))

    def notes(self) -> list[str]:
        """Sentences on foreign load, steal and throttling during the runs of either arm."""
        return attribution.notes(self._windows, tuple(self._samples))

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

    def _energy_j(self, arm: str) -> dict[str, Reading[float]]:
        return {gpu: self._gpu(gpu).energy_j() for gpu in self._arms[arm].gpus}

    @staticmethod
    def _edge(
        at_s: float,
        trees: _Trees,
        system: processes.SystemCpu | None,
        energy_j: dict[str, Reading[float]],
    ) -> Edge:
        return Edge(
            at_s=at_s,
            arm_cpu_s=processes.cpu_seconds(trees.table, trees.arm),
            our_cpu_s=processes.cpu_seconds(trees.table, trees.ours),
            system=system,
            energy_j=energy_j,
        )

    def _gpu(self, uuid: str) -> Any:
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
        return GpuSample(
            arm=running.arm,
            gpu=uuid,
            into_run_s=self._clock() - running.begin.at_s,
            utilization_pct=gpu.utilization_pct(),
            power_w=gpu.power_w(),
            memory_used_bytes=gpu.memory_used_bytes(),
            sm_clock_mhz=gpu.sm_clock_mhz(),
            temperature_c=gpu.temperature_c(),
            clock_reason_bits=gpu.clock_reason_bits(),
        )


def summarise(arm: str, windows: Sequence[Window], samples: Sequence[GpuSample]) -> dict[str, Any]:
    """`Telemetry.summary` as a function of what was seen of both arms."""
    own = [window for window in windows if window.arm == arm]
    looks = [sample for sample in samples if sample.arm == arm]
    late, settle_s = attribution.settled(looks)
    sources: dict[str, Any] = {}
    found: dict[str, Reading[Any]] = {"cpu_utilization_pct": attribution.cpu_utilization_pct(own)}
    memory = attribution.peak_resident(own)
    if memory.value is not None:
        sources["resident_bytes"] = memory.value.kind
    found |= {
        "resident_bytes": _map(memory, lambda each: each.bytes),
        "foreign_cpu_cores": attribution.foreign_cpu_cores(own),
        "steal_share": attribution.steal_share(own),
    }
    gpus = own[-1].gpus if own else ()
    if gpus:
        energy = attribution.energy(own, late)
        if energy.value is not None:
            sources["gpu_power_w"] = sources["energy_j_per_sample"] = energy.value.source
        sources["gpu_settle_s"] = settle_s
        found |= {
            "gpu_utilization_pct": attribution.mean_over_gpus(
                late, gpus, lambda sample: sample.utilization_pct
            ),
            "gpu_memory_used_bytes": attribution.gpu_memory_bytes(
                own, attribution.pids_are_ours(windows)
            ),
            "gpu_power_w": _map(energy, lambda each: each.joules / each.seconds),
            "energy_j_per_sample": _map(
                energy, lambda each: each.joules / each.samples if each.samples else None
            ),
            "gpu_sm_clock_mhz": attribution.mean_over_gpus(
                late, gpus, lambda sample: sample.sm_clock_mhz
            ),
            "gpu_temperature_c": attribution.mean_over_gpus(
                late, gpus, lambda sample: sample.temperature_c
            ),
            "foreign_gpu_processes": _map(attribution.foreign_gpu_processes(windows), len),
            "gpu_device_memory_used_bytes": attribution.peak_device_memory_bytes(looks, gpus),
        }
    else:
        found |= dict.fromkeys(GPU_KEYS, Reading(None, "it uses no NVIDIA GPU"))
    if not own:
        found = dict.fromkeys(found, Reading(None, "none of its runs was measured"))
    return {
        **{name: reading.value for name, reading in found.items()},
        "counts": {
            "runs": len(own),
            "samples": sum(window.samples for window in own),
            "gpu_looks": len(looks),
            "gpu_looks_settled": len(late),
        },
        "sources": sources,
        "reasons": {
            name: reading.reason for name, reading in found.items() if reading.value is None
        },
    }


def _map(reading: Reading[Any], change: Callable[[Any], Any]) -> Reading[Any]:
    if reading.value is None:
        return reading
    value = change(reading.value)
    return Reading(value, None if value is not None else "no sample was processed")
