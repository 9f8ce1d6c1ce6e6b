"""NVML readings through the real binding: a value, or None with the reason; never 0, no raise."""

from typing import Any

import pytest

from benchmarks.telemetry.clock_reasons import decode_clock_reasons, throttling
from benchmarks.telemetry.nvml import Nvml, list_uuids
from tests.benchmarks.nvml_stand_in import FIRST, MIG, SECOND, play

READ_ALL = """
from benchmarks.telemetry.nvml import Nvml
QUESTIONS = ("utilization", "memory_used_bytes", "power_w", "power_cap_w", "energy_j",
             "sm_clock_mhz", "memory_clock_mhz", "temperature_c", "clock_reasons", "processes")
def read(gpu):
    found = {name: getattr(gpu, name)() for name in QUESTIONS}
    busy = found["utilization"]
    found["utilization"] = type(busy)(busy.value and vars(busy.value), busy.reason)
    found["processes"] = type(found["processes"])(
        found["processes"].value and [vars(each) for each in found["processes"].value],
        found["processes"].reason)
    return {name: [reading.value, reading.reason] for name, reading in found.items()}
"""


def read(scenario: str, uuid: str, **environ: str) -> dict[str, Any]:
    """Every reading of one GPU as [value, reason]."""
    code = f"{READ_ALL}\nwith Nvml() as nvml: answer = read(nvml.gpu({uuid!r}))"
    answer: dict[str, Any] = play(scenario, code, **environ)
    return answer


def test_a_gpu_is_found_by_uuid_whatever_its_index() -> None:
    found = read("two", SECOND, NVML_OWN_PID="77")
    assert {name: value for name, (value, _) in found.items()} == {
        "utilization": {"gpu_pct": 90.0, "memory_pct": 11.0},
        "memory_used_bytes": 2 << 30,  # without the GiB that the driver keeps for itself
        "power_w": 300.5,
        "power_cap_w": 350.0,
        "energy_j": 9020.0,
        "sm_clock_mhz": 1410.0,
        "memory_clock_mhz": 2619.0,
        "temperature_c": 62.0,
        "clock_reasons": ["idle"],
        "processes": [{"pid": 77, "memory_bytes": 2 << 30}],
    }
    assert all(reason is None for _, reason in found.values())
    assert read("two", FIRST)["utilization"][0]["gpu_pct"] == 40.0


def test_a_uuid_as_torch_gives_it_opens_the_same_gpu() -> None:
    assert read("two", SECOND.removeprefix("GPU-"))["power_w"][0] == 300.5


@pytest.mark.parametrize(
    ("scenario", "reason"),
    [
        ("unsupported", "not supported by this GPU or driver"),
        ("denied", "no permission to read it"),
        ("no_driver", "the NVIDIA driver is not loaded"),
    ],
)
def test_what_cannot_be_read_is_none_with_its_reason(scenario: str, reason: str) -> None:
    assert all(found == [None, reason] for found in read(scenario, FIRST).values())


def test_an_unknown_uuid_is_a_reason_not_an_error() -> None:
    found = read("two", "GPU-dddddddd-0000-0000-0000-000000000009")
    assert found["power_w"] == [None, "the driver knows no GPU of that UUID"]


def test_an_old_driver_answers_what_it_can() -> None:
    found = read("old", SECOND, NVML_OWN_PID="77")
    assert found["energy_j"] == [None, "this driver is too old to report it"]
    assert found["memory_used_bytes"][0] == 3 << 30  # version 1 counts the driver's own memory in
    assert found["temperature_c"][0] == 61.0
    assert found["clock_reasons"][0] == ["idle"]
    assert found["processes"][0] == [{"pid": 77, "memory_bytes": 2 << 30}]


def test_a_mig_instance_says_that_it_is_one() -> None:
    found = read("mig", MIG)
    for name in ("utilization", "power_w", "energy_j"):
        assert found[name] == [None, "not reported for a MIG instance"]
    assert found["memory_used_bytes"][0] == 2 << 30


def test_a_gpu_lost_half_way_leaves_the_other_readable() -> None:
    code = """
from benchmarks.telemetry.nvml import Nvml
with Nvml() as nvml:
    lost, well = nvml.gpu(SECOND), nvml.gpu(FIRST)
    looks = [lost.power_w() for _ in range(6)]
    answer = [[look.value for look in looks], looks[-1].reason, well.power_w().value]
"""
    looks, reason, well = play("lost", code)
    assert looks == [300.5, 300.5, 300.5, None, None, None]
    assert reason == "the GPU is lost (it fell off the bus)"
    assert well == 100.0


LINKS = """
from benchmarks.telemetry.nvml import Nvml
with Nvml() as nvml:
    gpu = nvml.gpu(SECOND)
    looks = [gpu.pcie_counter(), gpu.pcie_counter(), gpu.nvlink_counter(), gpu.pcie_per_s()]
    answer = [[look.value and vars(look.value), look.reason] for look in looks]
"""


def test_traffic_is_counted_in_bytes_each_way() -> None:
    first, second, nvlink, looked = (value for value, _ in play("hopper", LINKS))
    assert second["sent_bytes"] - first["sent_bytes"] == 1_000_000
    assert second["received_bytes"] - first["received_bytes"] == 2_000_000
    assert nvlink["received_bytes"] == 2 * nvlink["sent_bytes"] == 2 * 3 * 2**20  # told in KiB
    assert looked == {"sent_bytes": 3e6, "received_bytes": 7e6}


@pytest.mark.parametrize(
    ("scenario", "reason"),
    [
        ("two", "not supported by this GPU or driver"),
        ("narrow", "this driver's counter is too narrow"),
        ("old", "this driver is too old to report it"),
    ],
)
def test_without_a_counter_of_bytes_there_is_no_traffic(scenario: str, reason: str) -> None:
    counted, _, nvlink, looked = play(scenario, LINKS)
    assert counted == [None, reason]
    assert nvlink[0] is None  # no NVLink here
    assert looked[0] == {"sent_bytes": 3e6, "received_bytes": 7e6}


def test_a_foreign_process_is_listed_with_its_memory_unknown() -> None:
    found = read("foreign", FIRST, NVML_OWN_PID="77")["processes"][0]
    assert {"pid": 4000002, "memory_bytes": None} in found


def test_all_uuids_are_listed_with_mig_instances_in_any_slot() -> None:
    code = """
from benchmarks.telemetry.nvml import list_uuids
listed = list_uuids().value
answer = [listed.gpus, listed.migs]
"""
    assert play("mig", code) == [[FIRST, SECOND], [MIG]]


def test_after_closing_everything_is_unknown_and_closing_twice_is_fine() -> None:
    code = """
from benchmarks.telemetry.nvml import Nvml
nvml = Nvml([FIRST])
before = nvml.gpu(FIRST).power_w().value
nvml.close(); nvml.close()
after = nvml.gpu(FIRST).power_w()
answer = [before, after.value, after.reason]
"""
    assert play("two", code) == [100.0, None, "NVML was closed"]


def test_clock_reasons_are_decoded_bit_by_bit() -> None:
    assert decode_clock_reasons(0) == ()
    assert decode_clock_reasons(0x44) == ("power cap", "thermal (hardware)")
    assert decode_clock_reasons(0x1001) == ("idle", "unknown (0x1000)")
    assert throttling(0x3) == ()  # idle, and clocks set by hand, are no slowdown
    assert throttling(0xA5) == ("power cap", "thermal (software)", "power brake")


def test_a_missing_binding_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pynvml", None)
    listed = list_uuids()
    assert listed.value is None
    assert "nvidia-ml-py" in str(listed.reason)
    with Nvml([FIRST]) as nvml:
        assert nvml.gpu(FIRST).power_w().reason == listed.reason
