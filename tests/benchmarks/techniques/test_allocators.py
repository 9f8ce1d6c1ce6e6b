"""Allocators: what is asked for, needed, and seen in the process."""

from ctypes.util import find_library
from pathlib import Path

import pytest
import torch

from benchmarks.setting import Setting
from benchmarks.techniques import allocators
from benchmarks.techniques.technique import Technique
from benchmarks.training.process import huge_pages_under, large_blocks_mapped, mapped_allocators
from tests.benchmarks.in_child import answer_of
from tests.benchmarks.machines import hardware


def named(name: str) -> Technique:
    return next(each for each in allocators.ALLOCATORS if each.name == name)


@pytest.mark.parametrize("name", ["jemalloc", "tcmalloc"])
def test_an_allocator_needs_its_library_and_a_free_preload(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = allocators.PRELOADED[name]
    technique = named(name)
    setting = technique.apply(Setting())
    monkeypatch.delenv("LD_PRELOAD", raising=False)
    monkeypatch.setattr(allocators, "find_library", lambda stem: library)
    assert technique.needs(hardware(), setting) is None
    monkeypatch.setattr(allocators, "find_library", lambda stem: None)
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
    for name, _ in allocators.STEADY_MALLOC:
        monkeypatch.delenv(name, raising=False)
    assert answer_of(code) is True
    for name, value in allocators.STEADY_MALLOC:
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


@pytest.mark.skipif(not allocators.KERNEL_POLICY.exists(), reason="the kernel has no huge pages")
def test_huge_pages_are_asked_for_under_tensors(monkeypatch: pytest.MonkeyPatch) -> None:
    code = (
        "import torch; from pathlib import Path; from benchmarks.training import process; "
        "block = torch.empty(process.LARGE, dtype=torch.uint8); "
        "answer = process.huge_pages_under(block, Path('/proc/self/smaps'))"
    )
    name, on = allocators.HUGE_PAGES
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
    monkeypatch.setattr(allocators, "KERNEL_POLICY", tmp_path / "enabled")
    if policy is not None:
        (tmp_path / "enabled").write_text(policy)
    huge = named("huge_pages")
    found = huge.needs(hardware(), huge.apply(Setting()))
    assert (found is None) if reason is None else (found is not None and reason in found)


def test_jemalloc_is_asked_how_long_it_keeps_pages() -> None:
    jemalloc = named("jemalloc")
    check, setting = jemalloc.checks["jemalloc"], jemalloc.apply(Setting())
    said = "jemalloc's dirty_decay_ms is"
    assert check(setting, {"jemalloc_decay_ms": -1}) == (True, f"{said} -1")
    assert check(setting, {"jemalloc_decay_ms": 10_000}) == (False, f"{said} 10000")
    assert check(setting, {"jemalloc_decay_ms": None}) == (False, "no jemalloc answers")
    assert check(Setting(), {"jemalloc_decay_ms": None}) is None


JEMALLOC_HERE = find_library("jemalloc") == allocators.PRELOADED["jemalloc"]


@pytest.mark.skipif(not JEMALLOC_HERE, reason="jemalloc is not installed")
def test_jemalloc_answers_where_it_is_preloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    code = "from benchmarks.training import process; answer = process.jemalloc_decay_ms()"
    monkeypatch.delenv("LD_PRELOAD", raising=False)
    assert answer_of(code) is None
    monkeypatch.setenv("LD_PRELOAD", allocators.PRELOADED["jemalloc"])
    monkeypatch.delenv("MALLOC_CONF", raising=False)
    assert answer_of(code) == 10_000
    monkeypatch.setenv(*allocators.KEEPING)
    assert answer_of(code) == -1
