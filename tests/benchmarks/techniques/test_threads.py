"""Threads and instruction sets: what is asked for, needed, and seen in the process."""

import platform

import pytest

from benchmarks.setting import Setting
from benchmarks.techniques import threads
from benchmarks.techniques.technique import Technique
from tests.benchmarks.in_child import answer_of
from tests.benchmarks.machines import hardware


def names(cores: int) -> list[str]:
    return [technique.name for technique in threads.techniques(cores)]


def named(name: str, cores: int = 16) -> Technique:
    return next(each for each in threads.techniques(cores) if each.name == name)


def test_counts_of_threads_double_up_to_the_cores_and_halve_them() -> None:
    assert [n for n in names(12) if n.startswith("threads")] == [
        *("threads1", "threads2", "threads4", "threads6", "threads8")
    ]
    assert [n for n in names(2) if n.startswith("threads")] == ["threads1"]
    assert not [n for n in names(1) if n.startswith(("threads", "ddp"))]


def test_splits_use_every_core() -> None:
    splits = [t.change for t in threads.techniques(8) if t.name.startswith("ddp")]
    assert splits == [
        {"parallel": "ddp2", "threads": 4},
        {"parallel": "ddp4", "threads": 2},
        {"parallel": "ddp8", "threads": 1},
    ]


@pytest.mark.parametrize("technique", threads.techniques(4), ids=lambda each: each.name)
def test_none_is_for_an_accelerator(technique: Technique) -> None:
    setting = technique.apply(Setting(device="cuda"))
    reason = technique.needs(hardware(gpus=4), setting)
    assert reason == f"{technique.name} is for training on a CPU"


def test_threads_are_those_of_the_setting_or_the_cores_shared_out() -> None:
    check = named("threads1").checks["threads"]
    assert check(Setting(threads=3), {"threads": 3}) == (True, "3 intra-op threads, 3 wanted")
    assert check(Setting(threads=3), {"threads": 4}) == (False, "4 intra-op threads, 3 wanted")
    shared = {"threads": 4, "usable_cores": 8}
    assert check(Setting(parallel="ddp2"), shared) == (True, "4 intra-op threads, 4 wanted")
    assert check(Setting(), shared) == (False, "4 intra-op threads, 8 wanted")


def test_onednn_says_what_it_uses_and_keeps_below_its_limit() -> None:
    amx = named("onednn_no_amx")
    setting = amx.apply(amx.baseline("cpu"))
    assert setting.precision == "amp_bf16"
    check = amx.checks["onednn_isa"]
    within = threads.ISA_SAID["AVX512_CORE_BF16"]
    assert check(setting, {"onednn_isa": within}) == (True, f"oneDNN uses {within}")
    found = check(setting, {"onednn_isa": "Intel AVX10.1 and Intel AMX with bfloat16"})
    assert found is not None
    assert not found[0]
    assert amx.needs(hardware(), setting) == (
        "onednn_no_amx needs a CPU with AMX tiles, this one has none"
    )


@pytest.mark.skipif(platform.machine() != "x86_64", reason="names of x86")
def test_the_effective_instruction_set_is_read_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", "SSE41")
    code = "from benchmarks.training import process; answer = process.onednn_isa()"
    assert answer_of(code) == "Intel SSE4.1"
