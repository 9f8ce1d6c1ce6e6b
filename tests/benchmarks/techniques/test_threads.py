"""Threads, allocators and instruction sets: what is asked for, needed, and seen in the process."""

import platform
from pathlib import Path

import pytest
import torch

from benchmarks.setting import Setting
from benchmarks.techniques import threads
from benchmarks.techniques.technique import Technique
from benchmarks.training.process import huge_pages_under, large_blocks_mapped, mapped_allocators
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


@pytest.mark.parametrize("name", ["jemalloc", "tcmalloc"])
def test_an_allocator_needs_its_library_and_a_free_preload(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = threads.PRELOADED[name]
    technique = named(name)
    setting = technique.apply(Setting())
    monkeypatch.delenv("LD_PRELOAD", raising=False)
    monkeypatch.setattr(threads, "find_library", lambda stem: library)
    assert technique.needs(hardware(), setting) is None
    monkeypatch.setattr(threads, "find_library", lambda stem: None)
    assert technique.needs(hardware(), setting) == f"{name} needs {library}, which is not installed"
    monkeypatch.setenv("LD_PRELOAD", "other.so")
    assert "in use here already" in (technique.needs(hardware(), setting) or "")


def test_an_allocator_is_seen_among_the_mapped_libraries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LD_PRELOAD", raising=False)
    maps = tmp_path / "maps"
    maps.write_text("7f00-7f01 r-xp 00000000 08:01 12 /usr/lib/libjemalloc.so.2\n")
    seen = mapped_allocators(maps)
    assert seen == ["jemalloc"]
    check = named("jemalloc").checks["allocator"]
    jemalloc = named("jemalloc").apply(Setting())
    assert check(jemalloc, {"allocators": seen}) == (True, "mapped: jemalloc")
    assert check(jemalloc, {"allocators": []}) == (False, "mapped: no other allocator")
    assert check(Setting(), {"allocators": seen}) == (False, "mapped: jemalloc")
    assert check(Setting(), {"allocators": []}) == (True, "mapped: no other allocator")
    assert mapped_allocators(tmp_path / "nowhere") is None


@pytest.mark.skipif(large_blocks_mapped() is None, reason="malloc is not glibc's")
def test_steady_malloc_takes_large_blocks_from_the_heap(monkeypatch: pytest.MonkeyPatch) -> None:
    code = "from benchmarks.training import process; answer = process.large_blocks_mapped()"
    for name, _ in threads.STEADY_MALLOC:
        monkeypatch.delenv(name, raising=False)
    assert answer_of(code) is True
    for name, value in threads.STEADY_MALLOC:
        monkeypatch.setenv(name, value)
    assert answer_of(code) is False
    steady = named("steady_malloc")
    check = steady.checks["steady_malloc"]
    setting = steady.apply(Setting())
    assert check(setting, {"large_blocks_mapped": False}) == (
        True,
        "a large block lies on the heap",
    )
    assert check(setting, {"large_blocks_mapped": True}) == (
        False,
        "a large block lies mapped apart",
    )
    assert check(Setting(), {"large_blocks_mapped": True}) is None


@pytest.mark.skipif(not threads.KERNEL_POLICY.exists(), reason="the kernel has no huge pages")
def test_huge_pages_are_asked_for_under_tensors(monkeypatch: pytest.MonkeyPatch) -> None:
    code = (
        "import torch; from pathlib import Path; from benchmarks.training import process; "
        "block = torch.empty(process.LARGE, dtype=torch.uint8); "
        "answer = process.huge_pages_under(block, Path('/proc/self/smaps'))"
    )
    name, on = threads.HUGE_PAGES
    huge = named("huge_pages")
    check, setting = huge.checks["huge_pages"], huge.apply(Setting())
    monkeypatch.delenv(name, raising=False)
    plain = {"huge_pages": answer_of(code)}
    assert plain == {"huge_pages": False}
    assert check(Setting(), plain) == (True, "huge pages under a large tensor: no")
    assert check(setting, plain) == (False, "huge pages under a large tensor: no")
    monkeypatch.setenv(name, on)
    seen = {"huge_pages": answer_of(code)}
    monkeypatch.delenv(name)
    assert check(setting, seen) == (True, "huge pages under a large tensor: asked for")
    assert check(Setting(), seen) == (False, "huge pages under a large tensor: asked for")


def test_without_smaps_nobody_believes_in_huge_pages(tmp_path: Path) -> None:
    tensor = torch.empty(1)
    assert huge_pages_under(tensor, tmp_path / "nowhere") is None
    (tmp_path / "smaps").write_text("1000-2000 rw-p 0 00:00 0\nVmFlags: rd wr hg\n")
    assert huge_pages_under(tensor, tmp_path / "smaps") is None
    huge = named("huge_pages")
    check = huge.checks["huge_pages"]
    assert check(Setting(), {}) is None
    finding = check(huge.apply(Setting()), {})
    assert finding
    assert not finding[0]


@pytest.mark.parametrize(
    ("policy", "reason"),
    [
        ("always [madvise] never\n", None),
        ("[always] madvise never\n", "needs the kernel's policy madvise, here it is always"),
        ("always madvise [never]\n", "needs the kernel's policy madvise, here it is never"),
        (None, "needs a kernel with transparent huge pages"),
    ],
)
def test_huge_pages_need_a_kernel_that_leaves_the_choice(
    policy: str | None, reason: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "KERNEL_POLICY", tmp_path / "enabled")
    if policy is not None:
        (tmp_path / "enabled").write_text(policy)
    huge = named("huge_pages")
    found = huge.needs(hardware(), huge.apply(Setting()))
    assert (found is None) if reason is None else (found is not None and reason in found)


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
