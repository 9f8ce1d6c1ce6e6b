"""CPU only: threads, the memory allocator, and which units oneDNN may use."""

import os
import platform
from ctypes.util import find_library
from pathlib import Path

from benchmarks.hardware import Hardware
from benchmarks.setting import Setting
from benchmarks.techniques.parallel import ranks_fit
from benchmarks.techniques.precision import AMP_BF16
from benchmarks.techniques.technique import Evidence, Finding, Technique

# Nothing is given back to the kernel or mapped apart, so that no step has to fault its memory in.
STEADY_MALLOC = (
    ("MALLOC_MMAP_THRESHOLD_", str(4 << 30)),
    ("MALLOC_TRIM_THRESHOLD_", str(8 << 30)),
    ("MALLOC_TOP_PAD_", str(64 << 20)),
)
HUGE_PAGES = ("THP_MEM_ALLOC_ENABLE", "1")  # read by c10::alloc_cpu, for tensors of 2 MiB and more
KERNEL_POLICY = Path("/sys/kernel/mm/transparent_hugepage/enabled")
PRELOADED = {"jemalloc": "libjemalloc.so.2", "tcmalloc": "libtcmalloc_minimal.so.4"}
MAX_ISA = "ONEDNN_MAX_CPU_ISA"
ISA_SAID = {  # by oneDNN 3, of itself
    "AVX512_CORE_VNNI": "Intel AVX-512 with Intel DL Boost",
    "AVX512_CORE_BF16": "Intel AVX-512 with Intel DL Boost and bfloat16 support",
}
MOST_RANKS = 8  # each holds a model of its own


def _threads(setting: Setting, evidence: Evidence) -> Finding | None:
    if setting.device != "cpu":
        return None
    seen, cores = evidence.get("threads"), evidence.get("usable_cores")
    if not setting.threads and cores is None:
        return None
    wanted = setting.threads or max(1, (cores or 0) // setting.world_size)
    return seen == wanted, f"{seen} intra-op threads, {wanted} wanted"


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


def _isa(setting: Setting, evidence: Evidence) -> Finding | None:
    """What oneDNN says of itself when it starts."""
    limit = dict(setting.variables).get(MAX_ISA)
    if limit is None:
        return None
    seen = evidence.get("onednn_isa")
    return seen == ISA_SAID[limit], f"oneDNN uses {seen}"


def _cpu_only(name: str, setting: Setting) -> str | None:
    return None if setting.device == "cpu" else f"{name} is for training on a CPU"


def threads(count: int) -> Technique:
    name = f"threads{count}"
    return Technique(
        name=name,
        change={"threads": count},
        why="leaves cores idle that a small model only waits for, or that share their units",
        api="torch.set_num_threads",
        needs=lambda hardware, setting: _cpu_only(name, setting),
        checks={"threads": _threads},
    )


def split(ranks: int, count: int) -> Technique:
    """`ranks` processes of `count` threads each."""
    name = f"ddp{ranks}_threads{count}"
    return Technique(
        name=name,
        change={"parallel": f"ddp{ranks}", "threads": count},
        why="small operations keep few threads busy: more processes of fewer threads each",
        api="torch.nn.parallel.DistributedDataParallel, torch.set_num_threads",
        needs=lambda hardware, setting: _cpu_only(name, setting) or ranks_fit(hardware, setting),
        checks={"threads": _threads},
        loss_tolerance=0.25,
        first_step_s=60.0,
    )


def _needs_glibc(hardware: Hardware, setting: Setting) -> str | None:
    libc = platform.libc_ver()[0] or platform.system()
    known = None if libc == "glibc" else f"steady_malloc is for glibc, this is {libc}"
    return _cpu_only("steady_malloc", setting) or known


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
    if reason := _cpu_only("huge_pages", setting):
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


def allocator(name: str) -> Technique:
    library = PRELOADED[name]

    def needs(hardware: Hardware, setting: Setting) -> str | None:
        if reason := _cpu_only(name, setting):
            return reason
        if os.environ.get("LD_PRELOAD"):
            return f"{name} needs LD_PRELOAD, which is in use here already"
        if find_library(library.removeprefix("lib").partition(".")[0]) != library:
            return f"{name} needs {library}, which is not installed"
        return None

    return Technique(
        name=name,
        change={"variables": (("LD_PRELOAD", library),)},
        why="an allocator that keeps and reuses large blocks better than glibc's",
        api=f"LD_PRELOAD={library}",
        needs=needs,
        checks={"allocator": _allocator},
    )


def without_units(name: str, limit: str, flag: str, units: str) -> Technique:
    """oneDNN held below what the CPU has: how much its units are worth."""

    def needs(hardware: Hardware, setting: Setting) -> str | None:
        lacks = f"{name} needs a CPU with {units}, this one has none"
        found = None if flag in hardware.cpu_isa else lacks
        return _cpu_only(name, setting) or found

    return Technique(
        name=name,
        change={"variables": ((MAX_ISA, limit),)},
        why=f"what {units} are worth: the same arithmetic without them",
        api=f"{MAX_ISA}={limit}",
        on=(AMP_BF16,),
        needs=needs,
        checks={"onednn_isa": _isa},
        loss_tolerance=0.05,
    )


def techniques(cores: int) -> list[Technique]:
    powers = [2**n for n in range(cores.bit_length()) if 2**n <= cores]
    counts = sorted({*powers, cores // 2} - {0, cores})
    return [
        *(threads(count) for count in counts),
        *(split(ranks, cores // ranks) for ranks in powers if 1 < ranks <= MOST_RANKS),
        STEADY,
        HUGE,
        *(allocator(name) for name in PRELOADED),
        without_units("onednn_no_amx", "AVX512_CORE_BF16", "amx_bf16", "AMX tiles"),
        without_units("onednn_no_bf16", "AVX512_CORE_VNNI", "avx512_bf16", "AVX-512 bf16 units"),
    ]
