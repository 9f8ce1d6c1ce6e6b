"""CPU only: where memory comes from, and whether a step gets back what the one before it freed."""

import os
import platform
from ctypes.util import find_library
from pathlib import Path

from benchmarks.hardware import Hardware
from benchmarks.setting import Setting
from benchmarks.techniques.technique import Evidence, Finding, Technique

# Nothing is given back to the kernel or mapped apart, so that no step has to fault its memory in.
STEADY_MALLOC = (
    ("MALLOC_MMAP_THRESHOLD_", str(4 << 30)),
    ("MALLOC_TRIM_THRESHOLD_", str(8 << 30)),
    ("MALLOC_TOP_PAD_", str(64 << 20)),
)
HUGE_PAGES = ("THP_MEM_ALLOC_ENABLE", "1")  # read by c10::alloc_cpu, for tensors of 2 MiB and more
KERNEL_POLICY = Path("/sys/kernel/mm/transparent_hugepage/enabled")
# By itself jemalloc returns freed pages after 10 s, and large blocks (8 MiB and more) at once.
KEEPING = ("MALLOC_CONF", "dirty_decay_ms:-1,muzzy_decay_ms:-1,metadata_thp:auto")
PRELOADED = {"jemalloc": "libjemalloc.so.2", "tcmalloc": "libtcmalloc_minimal.so.4"}


def cpu_only(name: str, setting: Setting) -> str | None:
    """Why an accelerator has no use for it, or None."""
    return None if setting.device == "cpu" else f"{name} is for training on a CPU"


def _allocator(setting: Setting, evidence: Evidence) -> Finding | None:
    """Which allocator's library is mapped; the user's own preload is part of the plain setting."""
    if evidence.get("allocators") is None:
        return None if not setting.variables else (False, "the mapped libraries are unknown")
    usual = os.environ.get("LD_PRELOAD", "")
    preload = dict(setting.variables).get("LD_PRELOAD", usual)
    wanted = [name for name in PRELOADED if name in preload]
    seen = evidence["allocators"]
    return seen == wanted, f"mapped: {', '.join(seen) or 'no other allocator'}"


def _steady(setting: Setting, evidence: Evidence) -> Finding | None:
    """Whether glibc takes a large block from its heap; whoever else asked for that may have it."""
    if not set(STEADY_MALLOC) <= set(setting.variables):
        return None
    mapped = evidence.get("large_blocks_mapped")
    said = {True: "mapped apart", False: "on the heap", None: "nobody knows where"}
    return mapped is False, f"a large block lies {said[mapped]}"


def _huge(setting: Setting, evidence: Evidence) -> Finding | None:
    """Whether the kernel was asked for huge pages under a tensor; the user may ask for himself."""
    name, on = HUGE_PAGES
    wanted = dict(setting.variables).get(name, os.environ.get(name)) == on
    seen = evidence.get("huge_pages")
    if seen is None:
        return (False, "nobody knows which pages a tensor has") if wanted else None
    return seen == wanted, f"huge pages under a large tensor: {'asked for' if seen else 'no'}"


def _keeps(setting: Setting, evidence: Evidence) -> Finding | None:
    """What jemalloc says of itself."""
    if KEEPING not in setting.variables:
        return None
    seen = evidence.get("jemalloc_decay_ms")
    said = "no jemalloc answers" if seen is None else f"jemalloc's dirty_decay_ms is {seen}"
    return seen == -1, said


def _needs_glibc(hardware: Hardware, setting: Setting) -> str | None:
    libc = platform.libc_ver()[0] or platform.system()
    known = None if libc == "glibc" else f"steady_malloc is for glibc, this is {libc}"
    return cpu_only("steady_malloc", setting) or known


STEADY = Technique(
    name="steady_malloc",
    change={"variables": STEADY_MALLOC},
    why="keeps freed memory instead of asking the kernel for it, page by page, in every step",
    api="MALLOC_MMAP_THRESHOLD_, MALLOC_TRIM_THRESHOLD_, MALLOC_TOP_PAD_",
    needs=_needs_glibc,
    checks={"steady_malloc": _steady},
)


def _needs_madvise(hardware: Hardware, setting: Setting) -> str | None:
    """Only madvise leaves a choice: always gives them to every process, never to none."""
    if reason := cpu_only("huge_pages", setting):
        return reason
    try:
        policy = KERNEL_POLICY.read_text()
    except OSError:
        return "huge_pages needs a kernel with transparent huge pages, this one has none"
    if "[madvise]" in policy:
        return None
    chosen = policy.partition("[")[2].partition("]")[0]
    return f"huge_pages needs the kernel's policy madvise, here it is {chosen}: {KERNEL_POLICY}"


HUGE = Technique(
    name="huge_pages",
    change={"variables": (*STEADY_MALLOC, HUGE_PAGES)},
    why="pages of 2 MiB under large tensors: one page fault where there were 512, fewer TLB misses",
    api="THP_MEM_ALLOC_ENABLE=1",
    on=(STEADY,),
    needs=_needs_madvise,
    checks={"huge_pages": _huge},
)


def preloaded(name: str, *besides: tuple[str, str], why: str) -> Technique:
    """Another allocator in place of glibc's, with these variables besides."""
    library = PRELOADED[name]
    variables = (("LD_PRELOAD", library), *besides)

    def needs(hardware: Hardware, setting: Setting) -> str | None:
        if reason := cpu_only(name, setting):
            return reason
        if os.environ.get("LD_PRELOAD"):
            return f"{name} needs LD_PRELOAD, which is in use here already"
        if find_library(library.removeprefix("lib").partition(".")[0]) != library:
            return f"{name} needs {library}, which is not installed"
        return None

    return Technique(
        name=name,
        change={"variables": variables},
        why=why,
        api=", ".join(f"{variable}={value}" for variable, value in variables),
        needs=needs,
        checks={"allocator": _allocator, "jemalloc": _keeps},
    )


JEMALLOC = preloaded(
    "jemalloc",
    KEEPING,
    why="told to keep freed pages for reuse; by itself it returns large blocks at once",
)
TCMALLOC = preloaded(
    "tcmalloc", why="an allocator that keeps and reuses large blocks better than glibc's"
)
ALLOCATORS = (STEADY, HUGE, JEMALLOC, TCMALLOC)
