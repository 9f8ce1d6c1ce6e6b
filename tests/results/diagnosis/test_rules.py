"""Every rule on numbers that say yes, that say no, and that do not tell."""

from typing import Any

import pytest

from results.diagnosis import RULES, Finding, Numbers, Ruled

EVEN = {"data": 0.02, "copy": 0.02, "forward": 0.3, "backward": 0.5, "optimizer": 0.1}
WAITS = {"data": 0.6, "copy": 0.02, "forward": 0.15, "backward": 0.2, "optimizer": 0.03}
GPU = {"device": "cuda"}
POWERLESS = GPU | {"power_limited_share": 0.9}
LAPTOP = {"cpu_cores": 8, "cpu_pct": 700.0, "foreign_cpu_cores": 0.1}

YES: list[tuple[str, dict[str, Any], str]] = [
    ("foreign load", LAPTOP | {"foreign_cpu_cores": 3.0}, "3.0 of 8 cores"),
    ("foreign load", LAPTOP | {"steal_share": 0.2}, "hypervisor took 20%"),
    ("foreign load", LAPTOP | GPU | {"foreign_gpu_processes": 2}, "(2) compute on its GPU"),
    (
        "oversubscription",
        {"cpu_cores": 2, "cpu_pct": 195.0, "num_workers": 4, "cpu_pressure_share": 0.7},
        "6 threads and workers for 2 cores",
    ),
    ("thermal limit", GPU | {"thermal_limited_share": 0.4}, "40% of looks"),
    ("data loading", {"shares": WAITS}, "60% of a step waits for data"),
    (
        "data loading",  # prefetching hides the wait, the loader still sets the pace
        {"samples_per_s": 60, "loader_samples_per_s": 62, "compute_samples_per_s": 155},
        "the loader alone gives 62 samples/s, compute takes 155",
    ),
    ("host-to-device copies", GPU | {"shares": EVEN | {"copy": 0.4}}, "of a step copies"),
    (
        "communication",
        GPU | {"world_size": 2, "shares": EVEN | {"communication": 0.4}},
        "40% of a step is exposed communication",
    ),
    (
        "kernel launches",
        GPU | {"gpu_busy_pct": 35.0, "shares": EVEN, "cpu_busiest_pct": 99.0},
        "busy 35% though 90% of a step computes",
    ),
    ("too few threads", {"cpu_cores": 8, "cpu_pct": 120.0, "shares": EVEN}, "1.2 of 8 cores"),
    ("power limit", GPU | {"power_limited_share": 0.9}, "90% of looks"),
    ("memory bandwidth", GPU | {"dram_active_pct": 78.0}, "78%"),
    ("compute", LAPTOP | {"shares": EVEN}, "90% of a step computes"),
    ("compute", GPU | {"gpu_busy_pct": 98.0, "tensor_active_pct": 60.0}, "tensor cores 60%"),
    ("compute", GPU | {"gpu_busy_pct": 98.0, "mfu": 0.45}, "MFU 45%"),
    (
        "compute",
        GPU
        | {"gpu_busy_pct": 98.0, "shares": EVEN}
        | {"samples_per_s": 95, "compute_samples_per_s": 100},
        "95% of what it computes without a loader",
    ),
]
NO: list[tuple[str, dict[str, Any]]] = [
    ("foreign load", LAPTOP),
    ("foreign load", LAPTOP | GPU | {"foreign_gpu_processes": 0}),
    ("oversubscription", {"cpu_cores": 8, "num_workers": 2, "device": "cuda"}),
    (
        "oversubscription",
        {"cpu_cores": 2, "cpu_pct": 150.0, "num_workers": 4, "cpu_pressure_share": 0.7},
    ),
    ("thermal limit", GPU | {"thermal_limited_share": 0.0}),
    ("thermal limit", {}),
    ("data loading", {"shares": EVEN}),
    ("host-to-device copies", GPU | {"shares": EVEN}),
    ("host-to-device copies", {"shares": EVEN | {"copy": 0.4}}),
    ("communication", {"world_size": 1}),
    ("communication", {"world_size": 2, "shares": EVEN | {"communication": 0.05}}),
    ("kernel launches", {}),
    ("kernel launches", GPU | {"gpu_busy_pct": 97.0}),
    ("kernel launches", GPU | {"gpu_busy_pct": 30.0, "shares": WAITS}),
    ("kernel launches", GPU | {"gpu_busy_pct": 30.0, "cpu_busiest_pct": 20.0}),
    ("too few threads", GPU),
    ("too few threads", {"cpu_cores": 8, "cpu_pct": 700.0}),
    ("too few threads", {"cpu_cores": 8, "cpu_pct": 120.0, "shares": WAITS}),
    (
        "too few threads",
        {"cpu_cores": 8, "cpu_pct": 120.0, "shares": EVEN, "foreign_cpu_cores": 6.0},
    ),
    ("power limit", {}),
    ("power limit", GPU | {"power_limited_share": 0.05}),
    ("memory bandwidth", GPU | {"dram_active_pct": 20.0}),
    ("compute", {"shares": WAITS}),
    ("compute", GPU | {"gpu_busy_pct": 40.0}),
    ("compute", GPU | {"gpu_busy_pct": 98.0, "tensor_active_pct": 5.0, "mfu": 0.04}),
]
UNKNOWN: list[tuple[str, dict[str, Any]]] = [
    ("foreign load", {}),
    ("foreign load", LAPTOP | GPU),  # in a container the driver's pids say nothing
    ("oversubscription", {}),
    ("oversubscription", {"cpu_cores": 2, "num_workers": 4}),
    ("thermal limit", GPU),
    ("data loading", {}),
    ("host-to-device copies", GPU),
    ("communication", {"world_size": 2, "shares": EVEN}),
    ("kernel launches", GPU),
    ("kernel launches", GPU | {"gpu_busy_pct": 35.0, "cpu_busiest_pct": 99.0}),
    ("too few threads", {"shares": EVEN}),
    ("power limit", GPU),
    ("memory bandwidth", {}),
    ("compute", {}),
    ("compute", GPU | {"gpu_busy_pct": 98.0}),  # busy is not computing
]


@pytest.mark.parametrize(("rule", "given", "evidence"), YES)
def test_a_rule_finds_what_binds_and_names_its_evidence(
    rule: str, given: dict[str, Any], evidence: str
) -> None:
    found = RULES[rule](Numbers(**given))
    assert isinstance(found, Finding)
    assert found.binds == rule
    assert evidence in found.sentence
    assert 0 < found.share <= 1
    assert found.techniques or found.remedy


@pytest.mark.parametrize(("rule", "given"), NO)
def test_a_rule_rules_itself_out(rule: str, given: dict[str, Any]) -> None:
    assert RULES[rule](Numbers(**given)) is Ruled.OUT


@pytest.mark.parametrize(("rule", "given"), UNKNOWN)
def test_a_rule_without_its_numbers_does_not_guess(rule: str, given: dict[str, Any]) -> None:
    assert RULES[rule](Numbers(**given)) is Ruled.UNKNOWN


def test_every_rule_is_tested_three_ways() -> None:
    assert {rule for rule, *_ in YES} == {rule for rule, *_ in NO} == set(RULES)
    assert {rule for rule, *_ in UNKNOWN} == set(RULES)


FULL = {"cpu_cores": 8, "cpu_pct": 790.0}
IMAGES = {"unit": "images"}


@pytest.mark.parametrize(
    ("given", "techniques"),
    [
        ({}, ("workers2",)),
        ({"num_workers": 2}, ("workers4",)),
        ({"num_workers": 8, "cpu_cores": 8, "cpu_pct": 200.0}, ()),  # there are no more cores
        (FULL, ()),  # nor free ones
        (FULL | IMAGES, ("pre_resized", "decode_torchvision")),
        (
            FULL | IMAGES | GPU | {"setting": {"images": "resized", "decode": "torchvision"}},
            ("device_augment", "device_decode"),
        ),
    ],
)
def test_more_workers_only_where_cores_are_free_and_cheaper_images_where_there_are_any(
    given: dict[str, Any], techniques: tuple[str, ...]
) -> None:
    assert advised("data loading", shares=WAITS, **given) == techniques


def test_a_technique_in_use_is_not_advised() -> None:
    cast_down = {"precision": "amp_bf16", "memory_format": "channels_last"}
    busy = GPU | IMAGES | {"dram_active_pct": 80.0}
    assert advised("memory bandwidth", **busy) == (
        "amp_bf16",
        "compile",
        "channels_last",
        "optimizer_fused",
    )
    assert advised("memory bandwidth", setting=cast_down, **busy) == ("compile", "optimizer_fused")


@pytest.mark.parametrize(("precision", "techniques"), [("fp32", 2), ("tf32", 1), ("bf16", 0)])
def test_a_lower_precision_is_advised_as_long_as_there_is_one(
    precision: str, techniques: int
) -> None:
    found = advised("power limit", setting={"precision": precision}, **POWERLESS)
    assert found == ("tf32", "amp_bf16")[2 - techniques :]


def test_a_step_that_communicates_is_given_more_samples_and_dataparallel_another_way() -> None:
    talking = GPU | {"shares": EVEN | {"communication": 0.4}}
    assert advised("communication", world_size=2, **talking) == ("batch_x2", "batch_x4")
    assert advised("communication", setting={"parallel": "dp"}, **talking)[0] == "ddp2"
    larger = {"batch": 4.0, "parallel": "ddp2"}
    assert advised("communication", world_size=2, setting=larger, **talking) == ()


def advised(rule: str, **given: Any) -> tuple[str, ...]:
    found = RULES[rule](Numbers(**given))
    assert isinstance(found, Finding)
    return found.techniques
