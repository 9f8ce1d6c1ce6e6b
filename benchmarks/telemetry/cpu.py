"""The CPU this process may really use: cores under affinity and cgroup quota, model, ISA, memory.

A container is often given two cores of a machine with ninety-six; what counts for threads and
loader workers is the share, not the machine. Everything here is read in well under a millisecond
and without torch.
"""

import math
import os
import platform
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path, PurePosixPath

# Flags that decide which kernels PyTorch's CPU libraries choose, as Linux and macOS spell them.
ISA_FLAGS = (
    *("avx", "avx2", "fma", "f16c", "avx_vnni", "avx512f", "avx512_vnni", "avx512_bf16"),
    *("avx512_fp16", "amx_tile", "amx_int8", "amx_bf16", "amx_fp16"),
    *("asimd", "asimdhp", "bf16", "i8mm", "sve", "sve2", "svebf16", "sme"),
)
NO_MEMORY_LIMIT = 1 << 60  # cgroup v1 spells "no limit" as a number near 2**63

Read = Callable[[str], str]


def affinity_cores() -> int:
    """Logical cores that the scheduler may put this process on."""
    if hasattr(os, "sched_getaffinity"):  # not on macOS and Windows
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def usable_cores(affinity: int, quota: float | None) -> int:
    """Whole cores that can run at once: a quota of 2.9 keeps two threads busy, at least one."""
    return max(1, affinity if quota is None else min(affinity, math.floor(quota)))


def cgroup_quota_cores() -> float | None:
    """CPU bandwidth limit of this process's cgroups, in cores, or None where none is set."""
    return quota_cores(read_text)


def cgroup_memory_bytes() -> int | None:
    """Memory limit of this process's cgroups, in bytes, or None where none is set."""
    return memory_limit_bytes(read_text)


def quota_cores(read: Read) -> float | None:
    """Smallest CPU quota on the way from this process's cgroup to the root, in cores.

    `read(path)` returns a file's text or raises OSError. Cgroup v2 (`cpu.max`) and v1
    (`cpu.cfs_quota_us`) are both looked at, since hybrid systems mount them side by side, and
    parents too, since a limit binds everything below it.
    """
    quotas = [_v2_quota(text) for text in _files(read, "cpu", "cpu.max")]
    for base in _folders(read, "cpu"):
        quota, period = (
            _try(read, f"{base}/cpu.cfs_quota_us"),
            _try(read, f"{base}/cpu.cfs_period_us"),
        )
        if quota and period and int(quota) > 0 and int(period) > 0:
            quotas.append(int(quota) / int(period))
    return min((quota for quota in quotas if quota is not None), default=None)


def memory_limit_bytes(read: Read) -> int | None:
    """Smallest memory limit on the way from this process's cgroup to the root, in bytes."""
    texts = [
        *_files(read, "memory", "memory.max"),
        *_files(read, "memory", "memory.limit_in_bytes"),
    ]
    limits = [int(text) for text in texts if text.isdigit()]
    return min((limit for limit in limits if limit < NO_MEMORY_LIMIT), default=None)


def model_name() -> str | None:
    """CPU model as the system names it."""
    return (
        _cpuinfo_field(("model name", "Model", "cpu model"))
        or _sysctl("machdep.cpu.brand_string")
        or platform.processor()
        or platform.machine()
        or None
    )


def isa_flags() -> tuple[str, ...]:
    """Instruction set extensions that matter for training, in `ISA_FLAGS` spelling."""
    flags = _cpuinfo_field(("flags", "Features")) or ""
    if not flags and platform.system() == "Darwin":
        return _apple_flags()
    return known_flags(flags.split())


def known_flags(flags: Iterable[str]) -> tuple[str, ...]:
    """Those of `flags` that matter here, in a fixed order."""
    present = set(flags)
    return tuple(flag for flag in ISA_FLAGS if flag in present)


def memory_bytes() -> int:
    """Physical memory of the machine, in bytes."""
    if hasattr(os, "sysconf"):  # not on Windows; elsewhere this file needs no package at all
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    import psutil

    return int(psutil.virtual_memory().total)


def read_text(path: str) -> str:
    """Text of a small system file; raises OSError."""
    return Path(path).read_text(encoding="utf-8", errors="replace")


def _folders(read: Read, controller: str) -> list[str]:
    """Cgroup folders that may limit this process, innermost first, for both hierarchies.

    Inside a container `/proc/self/cgroup` names the path on the host while the mount shows the
    container's own cgroup as root: a folder that does not exist is skipped, the root is not.
    """
    folders = []
    for line in _try(read, "/proc/self/cgroup").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and not controllers:
            mounts = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"]
        elif controller in controllers.split(","):
            mounts = [f"/sys/fs/cgroup/{controller}", f"/sys/fs/cgroup/{controllers}"]
        else:
            continue
        inside = PurePosixPath(path if path.startswith("/") else "/" + path)
        for mount in dict.fromkeys(mounts):
            folders += [
                mount + str(step).rstrip("/")
                for step in (inside, *inside.parents)
                if ".." not in step.parts
            ]
    return list(dict.fromkeys(folders))


def _files(read: Read, controller: str, name: str) -> list[str]:
    texts = (_try(read, f"{folder}/{name}") for folder in _folders(read, controller))
    return [text for text in texts if text]


def _try(read: Read, path: str) -> str:
    try:
        return read(path).strip()
    except OSError:
        return ""


def _v2_quota(text: str) -> float | None:
    quota, _, period = text.partition(" ")
    if quota == "max" or not quota.isdigit() or not period.isdigit() or int(period) == 0:
        return None
    return int(quota) / int(period)


def _cpuinfo_field(names: tuple[str, ...]) -> str | None:
    for line in _try(read_text, "/proc/cpuinfo").splitlines():
        key, _, value = line.partition(":")
        if key.strip() in names and value.strip():
            return value.strip()
    return None


def _sysctl(name: str) -> str | None:
    if platform.system() != "Darwin":
        return None
    try:
        out = subprocess.run(
            ["/usr/sbin/sysctl", "-n", name], capture_output=True, text=True, timeout=5, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return out.stdout.strip() or None


def _apple_flags() -> tuple[str, ...]:
    features = {"bf16": "FEAT_BF16", "i8mm": "FEAT_I8MM", "sme": "FEAT_SME"}
    found = [flag for flag, name in features.items() if _sysctl(f"hw.optional.arm.{name}") == "1"]
    if _sysctl("hw.optional.avx2_0") == "1":
        found.append("avx2")
    return known_flags(found)
