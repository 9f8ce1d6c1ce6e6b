"""Whose load was it: rules on made-up counters and samples with known answers."""

from collections.abc import Mapping

import pytest

from benchmarks.telemetry import counters, gpu_use, strangers
from benchmarks.telemetry.processes import Resident, SystemCpu
from benchmarks.telemetry.readings import GpuProcess, Reading
from benchmarks.telemetry.windows import Edge, GpuSample, Window

GPU0, GPU1 = "GPU-0", "GPU-1"


def edge(
    at_s: float,
    *,
    arm: float | None = 0.0,
    ours: float | None = 0.0,
    busy: float = 0.0,
    steal: float = 0.0,
    energy: Mapping[str, float | None] | None = None,
) -> Edge:
    """An edge on a machine of four cores."""
    readings = {
        gpu: Reading(value, None if value is not None else "not supported")
        for gpu, value in (energy or {}).items()
    }
    return Edge(
        at_s=at_s,
        arm_cpu_s=arm,
        our_cpu_s=ours,
        system=SystemCpu(busy, steal, 4),
        energy_j=readings,
    )


def window(begin: Edge, end: Edge, **more: object) -> Window:
    """A run of the candidate."""
    fields: dict[str, object] = {"arm": "candidate", "gpus": (), "samples": 100} | more
    return Window(begin=begin, end=end, **fields)  # type: ignore[arg-type]


def look(
    into_run_s: float, gpu: str = GPU0, power_w: float | None = 100.0, **more: int
) -> GpuSample:
    """A look at a GPU whose utilization is 50% unless told otherwise."""
    return GpuSample(
        arm="candidate",
        gpu=gpu,
        into_run_s=into_run_s,
        utilization_pct=Reading(float(more.get("utilization", 50))),
        power_w=Reading(power_w, None if power_w is not None else "no permission to read it"),
        memory_used_bytes=Reading(more.get("memory", 1)),
        sm_clock_mhz=Reading(1000.0),
        temperature_c=Reading(60.0),
        clock_reason_bits=Reading(more.get("bits", 0)),
    )


def on_gpu(*processes: GpuProcess, ours: frozenset[int], arm: frozenset[int]) -> Window:
    """A run at whose end the driver listed these processes."""
    return window(
        edge(0),
        edge(1),
        gpus=(GPU0,),
        processes={GPU0: Reading(processes)},
        our_pids=ours,
        arm_pids=arm,
    )


def test_cpu_utilization_is_of_one_core_over_the_arms_own_time() -> None:
    runs = [window(edge(0, arm=5), edge(2, arm=8)), window(edge(10, arm=8), edge(12, arm=9))]
    assert counters.cpu_utilization_pct(runs) == Reading(100.0)


def test_a_run_that_lost_cpu_time_is_left_out_or_unknown() -> None:
    good, bad = window(edge(0), edge(2, arm=1)), window(edge(0, arm=9), edge(2, arm=1))
    gone = window(edge(0), edge(2, arm=None))
    assert counters.cpu_utilization_pct([good, bad, gone]) == Reading(50.0)
    assert counters.cpu_utilization_pct([bad, gone]).value is None


def test_peak_memory_never_mixes_pss_with_rss() -> None:
    seen = [Resident(5, "pss"), Resident(90, "rss"), Resident(7, "pss"), None]
    runs = [window(edge(0), edge(1), resident=each) for each in seen]
    assert counters.peak_resident(runs).value == Resident(7, "pss")
    assert counters.peak_resident(runs[3:]).value is None


def test_early_looks_still_show_the_other_arm() -> None:
    looks = [look(at / 10) for at in range(20)]
    late, settle_s = gpu_use.settled(looks)
    assert settle_s == 1.0
    assert [sample.into_run_s for sample in late] == [at / 10 for at in range(10, 20)]
    late, settle_s = gpu_use.settled(looks[:8])  # short runs: past the shortest period
    assert settle_s == pytest.approx(1 / 6)
    assert len(late) == 6


def test_utilization_is_the_mean_over_the_arms_gpus() -> None:
    looks = [look(2, utilization=20), look(3, utilization=40), look(2, GPU1, utilization=90)]
    mean = gpu_use.mean_over_gpus(looks, (GPU0, GPU1), lambda each: each.utilization_pct)
    assert mean == Reading(60.0)
    unseen = gpu_use.mean_over_gpus(looks, (GPU0, "GPU-2"), lambda each: each.utilization_pct)
    assert unseen == Reading(None, "its runs were too short to be sampled")


def test_energy_is_the_counters_difference_over_all_gpus() -> None:
    runs = [
        window(
            edge(0, energy={GPU0: 10, GPU1: 1000}),
            edge(2, energy={GPU0: 210, GPU1: 1100}),
            gpus=(GPU0, GPU1),
        )
    ]
    found = gpu_use.energy(runs, []).value
    assert found == gpu_use.Energy(300, 2, 100, "energy counter")


@pytest.mark.parametrize("after", [None, 5.0])
def test_without_a_counter_energy_is_power_times_time(after: float | None) -> None:
    runs = [window(edge(0, energy={GPU0: 10}), edge(2, energy={GPU0: after}), gpus=(GPU0,))]
    found = gpu_use.energy(runs, [look(1.2, power_w=50), look(1.4, power_w=150)]).value
    assert found == gpu_use.Energy(200, 2, 100, "mean power x time")


def test_without_counter_and_power_energy_is_unknown_with_both_reasons() -> None:
    runs = [window(edge(0, energy={GPU0: None}), edge(2, energy={GPU0: None}), gpus=(GPU0,))]
    found = gpu_use.energy(runs, [look(1.2, power_w=None)])
    assert found == Reading(None, "not supported; power: no permission to read it")


def test_gpu_memory_is_the_arms_own_not_the_devices() -> None:
    mine, paused = GpuProcess(1, 300), GpuProcess(2, 500)
    run = on_gpu(mine, paused, ours=frozenset({1, 2}), arm=frozenset({1}))
    assert gpu_use.gpu_memory_bytes([run], matched=True) == Reading(300)


def test_in_a_container_memory_and_foreign_processes_are_unknown_not_an_alarm() -> None:
    run = on_gpu(GpuProcess(40001, 300), ours=frozenset({1, 2}), arm=frozenset({1}))
    memory = gpu_use.gpu_memory_bytes([run], matched=strangers.pids_are_ours([run]))
    foreign = strangers.foreign_gpu_processes([run])
    assert memory.value is None
    assert foreign.value is None
    assert "namespace" in str(memory.reason)
    assert "namespace" in str(foreign.reason)
    assert strangers.notes([run], []) == []


def test_a_foreign_process_on_our_gpu_is_said_once() -> None:
    run = on_gpu(
        GpuProcess(1, 300), GpuProcess(9, 1 << 20), ours=frozenset({1, 2}), arm=frozenset({1})
    )
    (note,) = strangers.notes([run, run], [])
    assert note == (
        "another process (pid 9, 1 MiB) computes on GPU-0: timings share that GPU with it"
    )


def test_the_paused_arms_process_is_not_foreign() -> None:
    run = on_gpu(GpuProcess(1, 300), GpuProcess(2, 5), ours=frozenset({1, 2}), arm=frozenset({1}))
    assert strangers.notes([run], []) == []


@pytest.mark.parametrize(("foreign_s", "said"), [(0.7, False), (0.9, True)])
def test_foreign_cpu_load_above_a_tenth_of_the_cores_is_said(foreign_s: float, said: bool) -> None:
    begin = edge(0, ours=50, busy=1000)
    end = edge(2, ours=53, busy=1000 + 3 + foreign_s)  # of 4 cores x 2 s
    notes = strangers.notes([window(begin, end)], [])
    assert bool(notes) == said
    if said:
        assert notes[0].startswith("other processes used 0.4 of 4 cores during the runs (11%)")


def test_our_own_ticks_rounded_up_are_no_negative_load() -> None:
    run = window(edge(0), edge(2, ours=3, busy=2.9))
    assert strangers.foreign_cpu_cores([run]) == Reading(0.0)


@pytest.mark.parametrize(("steal_s", "said"), [(0.3, False), (0.5, True)])
def test_steal_above_a_twentieth_is_said(steal_s: float, said: bool) -> None:
    notes = strangers.notes([window(edge(0), edge(2, steal=steal_s))], [])
    assert bool(notes) == said


def test_throttling_is_said_with_its_share_and_idle_is_not() -> None:
    looks = [look(1, bits=0x1), look(2, bits=0x4), look(3, bits=0x44), look(4)]
    assert strangers.notes([], looks) == [
        "GPU-0 was slowed in 50% of 4 looks: power cap",
        "GPU-0 was slowed in 25% of 4 looks: thermal (hardware)",
    ]


def test_device_memory_is_the_sum_of_peaks() -> None:
    looks = [look(1, memory=5), look(2, memory=9), look(1, GPU1, memory=100)]
    assert gpu_use.peak_device_memory_bytes(looks, (GPU0, GPU1)) == Reading(109)
