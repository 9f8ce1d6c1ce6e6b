"""Telemetry over made-up counters, over real processes, and over a stand-in driver's GPUs."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping

import pytest

from benchmarks.telemetry.processes import Process, Resident, SystemCpu, Table
from benchmarks.telemetry.telemetry import Telemetry
from tests.benchmarks.nvml_stand_in import FIRST, SECOND, play

RECORD_KEYS = {
    *("cpu_utilization_pct", "resident_bytes", "gpu_utilization_pct", "gpu_memory_used_bytes"),
    *("gpu_power_w", "energy_j_per_sample"),
}

# Runs both arms of a made-up experiment on the second GPU, each until it was looked at enough.
TWO_ARMS = """
import os, subprocess, time
from benchmarks.telemetry.telemetry import Telemetry
code = "import time; time.sleep(60)"
arms = {name: subprocess.Popen([sys.executable, "-c", code], process_group=0)
        for name in ("baseline", "candidate")}
os.environ.setdefault("NVML_OWN_PID", str(arms["candidate"].pid))
clock = iter(range(10**9))
with Telemetry([SECOND], lambda: float(next(clock)), period_s=0.001) as telemetry:
    for name, arm in arms.items():
        telemetry.arm_started(name, arm.pid, [SECOND])
    for name in (*arms, *arms):
        telemetry.run_begins(name)
        seen = len(telemetry._samples)
        while len(telemetry._samples) < seen + 8:
            time.sleep(0.001)
        telemetry.run_ends(name, 50)
for arm in arms.values():
    os.killpg(arm.pid, 9); arm.wait()
answer = [{name: telemetry.summary(name) for name in arms}, telemetry.notes()]
"""


class MadeUp:
    """A system in which each second of the clock costs what `step` is told."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.cpu_s = {1: 0.0, 100: 0.0, 101: 0.0, 200: 0.0, 999: 0.0}
        self.steal_s = 0.0
        self.pressure_s: float | None = 0.0
        self.read_bytes = {100: 0, 200: 0}
        self.memory = {100: 10, 101: 5, 200: 7}

    def clock(self) -> float:
        return self.now_s

    def step(self, seconds: float, cores: Mapping[int, float]) -> None:
        """Let time pass while these pids keep so many cores busy."""
        self.now_s += seconds
        for pid, share in cores.items():
            self.cpu_s[pid] += share * seconds

    def snapshot(self) -> Table:
        parents = {1: 0, 100: 1, 101: 100, 200: 1, 999: 0}
        names = {101: "pt_data_worker"}
        return {
            pid: Process(parents[pid], pid, self.cpu_s[pid], names.get(pid, "python"))
            for pid in parents
        }

    def resident(self, pids: frozenset[int]) -> Resident | None:
        return Resident(sum(self.memory.get(pid, 0) for pid in pids), "pss", 3)

    def system_cpu(self) -> SystemCpu | None:
        return SystemCpu(sum(self.cpu_s.values()), self.steal_s, 4)

    def disk_read_bytes(self, pids: frozenset[int]) -> int | None:
        return sum(self.read_bytes.get(pid, 0) for pid in pids)

    def cpu_pressure_s(self) -> float | None:
        return self.pressure_s

    def load_average(self) -> float | None:
        return 2.5


@pytest.fixture
def machine() -> MadeUp:
    """Pid 1 is the suite, 100 (child 101) the baseline, 200 the candidate, 999 somebody else."""
    return MadeUp()


def watching(machine: MadeUp) -> Telemetry:
    """Telemetry of two arms on the CPU."""
    telemetry = Telemetry(clock=machine.clock, system=machine, own_pid=1)
    telemetry.arm_started("baseline", 100)
    telemetry.arm_started("candidate", 200)
    return telemetry


def test_each_arm_is_given_what_it_used_in_its_own_turns(machine: MadeUp) -> None:
    telemetry = watching(machine)
    for arm, cores in (("baseline", {100: 1.0, 101: 0.5}), ("candidate", {200: 3.0})) * 2:
        machine.step(5, {100: 2.0, 200: 2.0})  # between the runs nobody counts
        telemetry.run_begins(arm)
        machine.step(2, cores)
        telemetry.run_ends(arm, 64)
    baseline, candidate = telemetry.summary("baseline"), telemetry.summary("candidate")
    assert baseline["cpu_utilization_pct"] == pytest.approx(150)
    assert candidate["cpu_utilization_pct"] == pytest.approx(300)
    assert (baseline["resident_bytes"], candidate["resident_bytes"]) == (15, 7)
    assert baseline["counts"]["runs"] == 2
    assert baseline["counts"]["samples"] == 128
    assert telemetry.notes() == []


def test_an_arms_processes_its_disk_and_the_run_queue_are_accounted_for(machine: MadeUp) -> None:
    telemetry = watching(machine)
    for _ in range(2):
        telemetry.run_begins("baseline")
        machine.step(2, {100: 1.0, 101: 0.25})
        machine.read_bytes[100] += 4_000_000
        machine.pressure_s = (machine.pressure_s or 0.0) + 0.5
        telemetry.run_ends("baseline", 1)
        machine.read_bytes[100] += 9_000_000  # between the runs nobody counts
    seen = telemetry.summary("baseline")
    assert seen["cpu_by_process_pct"] == pytest.approx({"training0": 100.0, "worker0": 25.0})
    assert seen["disk_read_bytes_per_s"] == pytest.approx(2_000_000)
    assert seen["cpu_pressure_share"] == pytest.approx(0.25)
    assert seen["load_average"] == 2.5
    assert seen["cpu_cores"] == 4
    assert seen["shared_memory_bytes"] == 3
    assert seen["readings"]["cpu_pressure_share"] == seen["readings"]["cpu_utilization_pct"] == 2
    assert seen["readings"]["resident_bytes"] == 1


def test_a_kernel_without_pressure_information_says_so(machine: MadeUp) -> None:
    machine.pressure_s = None
    telemetry = watching(machine)
    telemetry.run_begins("baseline")
    machine.step(1, {100: 1.0})
    telemetry.run_ends("baseline", 1)
    seen = telemetry.summary("baseline")
    assert seen["cpu_pressure_share"] is None
    assert "pressure" in seen["reasons"]["cpu_pressure_share"]
    assert "cpu_pressure_share" not in seen["readings"]


def test_the_other_arm_and_the_suite_itself_are_not_foreign(machine: MadeUp) -> None:
    telemetry = watching(machine)
    telemetry.run_begins("baseline")
    machine.step(2, {100: 1.0, 200: 1.5, 1: 1.0})
    telemetry.run_ends("baseline", 1)
    assert telemetry.notes() == []
    telemetry.run_begins("candidate")
    machine.step(2, {200: 1.0, 999: 2.0})
    machine.steal_s += 1.0
    telemetry.run_ends("candidate", 1)
    foreign, steal = telemetry.notes()
    assert foreign.startswith("other processes used 1.0 of 4 cores")
    assert "(steal)" in steal
    assert telemetry.summary("candidate")["foreign_cpu_cores"] == pytest.approx(2.0)
    assert telemetry.summary("baseline")["foreign_cpu_cores"] == 0.0


def test_memory_is_read_once_a_start_and_seldom_after(machine: MadeUp) -> None:
    telemetry = watching(machine)
    for held in (10, 30, 50):  # at 1, 2 and 7 s: the second is too soon
        telemetry.run_begins("candidate")
        machine.step(5 if held == 50 else 1, {200: 1.0})
        machine.memory[200] = held
        telemetry.run_ends("candidate", 1)
        seen = telemetry.summary("candidate")["resident_bytes"]
        assert seen == {10: 10, 30: 10, 50: 50}[held]
    telemetry.arm_started("candidate", 200)  # a new start is read at once
    telemetry.run_begins("candidate")
    machine.memory[200] = 70
    machine.step(1, {200: 1.0})
    telemetry.run_ends("candidate", 1)
    assert telemetry.summary("candidate")["resident_bytes"] == 70


def test_a_run_that_never_ended_is_forgotten(machine: MadeUp) -> None:
    telemetry = watching(machine)
    telemetry.run_begins("baseline")
    machine.step(2, {100: 4.0})
    telemetry.run_begins("candidate")
    machine.step(2, {200: 1.0})
    telemetry.run_ends("candidate", 1)
    telemetry.run_ends("baseline", 1)
    assert telemetry.summary("baseline")["cpu_utilization_pct"] is None
    assert telemetry.summary("candidate")["cpu_utilization_pct"] == pytest.approx(100)


def test_unknown_is_null_with_a_reason_and_the_whole_is_strict_json(machine: MadeUp) -> None:
    telemetry = watching(machine)
    unseen = telemetry.summary("candidate")
    assert unseen.keys() >= RECORD_KEYS
    assert {unseen[key] for key in RECORD_KEYS} == {None}
    assert unseen["reasons"].keys() >= RECORD_KEYS
    telemetry.run_begins("candidate")
    machine.step(1, {200: 1.0})
    telemetry.run_ends("candidate", 0)
    seen = telemetry.summary("candidate")
    assert seen["reasons"]["gpu_power_w"] == "it uses no NVIDIA GPU"
    json.dumps(seen, allow_nan=False)


def test_without_gpus_there_is_no_thread_and_no_driver(machine: MadeUp) -> None:
    before = threading.active_count()
    with watching(machine) as telemetry:
        telemetry.run_begins("baseline")
        assert threading.active_count() == before
        assert telemetry._nvml is None


@pytest.mark.skipif(sys.platform == "win32", reason="SIGSTOP is not known to Windows")
def test_real_arms_that_take_turns_by_sigstop() -> None:
    code = "print('ready', flush=True)\nwhile True: pass"
    arms = {
        name: subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, process_group=0
        )
        for name in ("baseline", "candidate")
    }
    try:
        with Telemetry() as telemetry:
            for name, arm in arms.items():
                assert arm.stdout is not None
                arm.stdout.readline()
                os.killpg(arm.pid, signal.SIGSTOP)
                telemetry.arm_started(name, arm.pid)
            for name, arm in arms.items():
                os.killpg(arm.pid, signal.SIGCONT)
                telemetry.run_begins(name)
                threading.Event().wait(0.3)
                telemetry.run_ends(name, 10)
                os.killpg(arm.pid, signal.SIGSTOP)
            for name in arms:
                seen = telemetry.summary(name)
                assert (
                    0 < seen["cpu_utilization_pct"] < 125
                )  # one thread: a core, give or take ticks
                assert seen["resident_bytes"] > 1 << 20
    finally:
        for arm in arms.values():
            os.killpg(arm.pid, signal.SIGKILL)
            arm.wait()
            assert arm.stdout is not None
            arm.stdout.close()


def test_gpu_numbers_come_from_the_gpu_that_the_arms_use() -> None:
    arms, notes = play("two", TWO_ARMS)
    candidate = arms["candidate"]
    assert candidate["gpu_utilization_pct"] == 90.0  # GPU 1's, not GPU 0's 40
    assert candidate["gpu_memory_used_bytes"] == 2 << 30
    assert candidate["energy_j_per_sample"] == pytest.approx(2 * 20 / 100)
    assert candidate["sources"]["energy_j_per_sample"] == "energy counter"
    assert candidate["counts"]["gpu_looks"] >= 16
    assert candidate["foreign_gpu_processes"] == 0
    assert arms["baseline"]["gpu_memory_used_bytes"] is None  # the driver lists the candidate only
    assert not [note for note in notes if "GPU-" in note]


def test_a_foreign_process_on_the_gpu_is_said() -> None:
    arms, notes = play("foreign", TWO_ARMS)
    assert arms["candidate"]["foreign_gpu_processes"] == 1
    assert (
        f"another process (pid 4000002) computes on {SECOND}: timings share that GPU with it"
        in notes
    )


def test_in_a_container_nobody_is_called_foreign() -> None:
    arms, notes = play("container", TWO_ARMS)
    assert arms["candidate"]["foreign_gpu_processes"] is None
    assert "namespace" in arms["candidate"]["reasons"]["foreign_gpu_processes"]
    assert arms["candidate"]["gpu_device_memory_used_bytes"] == 2 << 30
    assert not [note for note in notes if "GPU-" in note]


def test_a_driver_without_energy_counter_gives_power_times_time() -> None:
    candidate = play("old", TWO_ARMS)[0]["candidate"]
    assert candidate["gpu_power_w"] == 300.5
    assert candidate["sources"]["gpu_power_w"] == "mean power x time"


def test_the_inside_of_the_gpu_is_known_where_it_counts() -> None:
    candidate = play("hopper", TWO_ARMS)[0]["candidate"]
    assert candidate["gpu_sm_active_pct"] == 12.0  # the stand-in's: 10 and the metric's number
    assert candidate["gpu_occupancy_pct"] == 13.0
    assert candidate["gpu_tensor_active_pct"] == 15.0
    assert candidate["gpu_dram_active_pct"] == 20.0
    assert candidate["gpu_pcie_received_bytes_per_s"] == 21 * 2**20
    assert candidate["gpu_nvlink_sent_bytes_per_s"] == 61 * 2**20
    assert candidate["sources"]["gpu_nvlink_sent_bytes_per_s"] == "GPM"
    assert candidate["readings"]["gpu_sm_active_pct"] == 2
    assert candidate["gpu_memory_clock_mhz"] == 2619.0
    assert candidate["gpu_memory_utilization_pct"] == 11.0
    assert candidate["gpu_memory_others_bytes"] == 0


def test_a_mig_instance_has_its_own_inside_and_reasons_for_what_is_the_whole_gpus() -> None:
    on_mig = TWO_ARMS.replace("SECOND", "MIG")
    candidate = play("mig_hopper", on_mig)[0]["candidate"]
    assert candidate["gpu_sm_active_pct"] == 12.0
    assert candidate["gpu_tensor_active_pct"] == 15.0
    for name in ("gpu_utilization_pct", "gpu_power_w", "energy_j_per_sample"):
        assert candidate[name] is None
        assert "MIG" in candidate["reasons"][name]
    older = play("mig", on_mig)[0]["candidate"]
    assert older["gpu_sm_active_pct"] is None
    assert older["reasons"]["gpu_sm_active_pct"] == "not reported for a MIG instance"


def test_a_link_that_gpm_leaves_out_is_counted_by_the_driver() -> None:
    candidate = play("half_hopper", TWO_ARMS)[0]["candidate"]
    assert candidate["sources"]["gpu_nvlink_sent_bytes_per_s"] == "driver"
    assert candidate["gpu_nvlink_received_bytes_per_s"] == pytest.approx(
        2 * candidate["gpu_nvlink_sent_bytes_per_s"]
    )


def test_a_gpu_without_gpm_and_nvlink_has_reasons_and_its_pcie_is_looked_at() -> None:
    candidate = play("two", TWO_ARMS)[0]["candidate"]
    for name in ("gpu_sm_active_pct", "gpu_dram_active_pct", "gpu_nvlink_sent_bytes_per_s"):
        assert candidate[name] is None
        assert candidate["reasons"][name] == "not supported by this GPU or driver"
    assert candidate["gpu_pcie_sent_bytes_per_s"] == 3e6
    assert candidate["gpu_pcie_received_bytes_per_s"] == 7e6


def test_power_above_the_cap_is_a_limit() -> None:
    candidate = play("over_cap", TWO_ARMS)[0]["candidate"]
    assert candidate["gpu_power_cap_w"] == 350.0
    assert candidate["gpu_power_limited_share"] == 1.0
    assert candidate["gpu_thermal_limited_share"] == 0.0
    assert play("two", TWO_ARMS)[0]["candidate"]["gpu_power_limited_share"] == 0.0


def test_throttling_is_said() -> None:
    notes = play("throttled", TWO_ARMS)[1]
    assert any("power cap" in note for note in notes)
    assert any("thermal (hardware)" in note for note in notes)


@pytest.mark.parametrize("scenario", ["lost", "denied", "unsupported", "no_driver"])
def test_gpus_that_do_not_answer_cost_numbers_not_the_run(scenario: str) -> None:
    candidate = play(scenario, TWO_ARMS)[0]["candidate"]
    assert candidate["energy_j_per_sample"] is None
    assert candidate["reasons"]["energy_j_per_sample"]
    assert candidate["cpu_utilization_pct"] is not None
    assert FIRST not in json.dumps(candidate)
