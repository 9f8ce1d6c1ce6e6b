"""The machine around the accelerator: cores, memory, limits, clocks, compilers."""

import os
import platform
import shutil
import sysconfig
from collections.abc import Mapping
from pathlib import Path

from benchmarks.doctor.facts import Host, SharedMemory
from benchmarks.doctor.files import text
from benchmarks.telemetry import cpu

CPU_FOLDER = "sys/devices/system/cpu"
VERY_MANY = 1 << 30  # for "no limit", which the system spells -1


def look(root: Path, environ: Mapping[str, str]) -> Host:
    """Facts from `root`'s /dev, /proc and /sys, and from this process's own limits."""

    def read(path: str) -> str:
        return cpu.read_text(str(root / path.lstrip("/")))

    affinity, quota = cpu.affinity_cores(), cpu.quota_cores(read)
    system = platform.system()
    return Host(
        system=system,
        cpu_model=cpu.model_name(),
        cpu_isa=cpu.isa_flags(),
        cpu_cores=os.cpu_count() or 1,
        affinity_cores=affinity,
        cgroup_cores=quota,
        usable_cores=cpu.usable_cores(affinity, quota),
        memory_bytes=_memory_bytes(),
        cgroup_memory_bytes=cpu.memory_limit_bytes(read),
        shared_memory=shared_memory(root / "dev/shm"),
        open_files=open_files(),
        governor=text(root / CPU_FOLDER / "cpu0/cpufreq/scaling_governor") or None,
        frequency_driver=text(root / CPU_FOLDER / "cpu0/cpufreq/scaling_driver") or None,
        throttle_events=None,
        container=container(root, environ),
        cxx=_found(environ, "CXX", _cxx_names(system)),
        cc=_found(environ, "CC", ("gcc", "clang")),
        python_headers=Path(sysconfig.get_path("include"), "Python.h").is_file(),
    )


def throttle_events(root: Path) -> int | None:
    """How often the CPU was slowed for its temperature since boot; None where nobody counts.

    Every core of a package repeats the package's count, so only differences mean something.
    """
    counters = (root / CPU_FOLDER).glob("cpu[0-9]*/thermal_throttle/*_throttle_count")
    counts = [int(count) for counter in counters if (count := text(counter)).isdigit()]
    return sum(counts) if counts else None


def shared_memory(folder: Path) -> SharedMemory | None:
    """Size and free space of `folder`; None where it does not exist."""
    if not hasattr(os, "statvfs") or not folder.is_dir():
        return None
    space = os.statvfs(folder)
    return SharedMemory(
        total_bytes=space.f_blocks * space.f_frsize,
        free_bytes=space.f_bavail * space.f_frsize,
        writable=os.access(folder, os.W_OK | os.X_OK),
    )


def open_files() -> tuple[int, int] | None:
    """Soft and hard limit of file handles; None where the system has none."""
    try:
        import resource
    except ModuleNotFoundError:  # Windows
        return None
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _or_very_many(soft), _or_very_many(hard)


def container(root: Path, environ: Mapping[str, str]) -> str | None:
    """The kind of container around this process, or None where none is recognised."""
    if environ.get("KUBERNETES_SERVICE_HOST"):
        return "kubernetes"
    for mark, kind in ((".dockerenv", "docker"), ("run/.containerenv", "podman")):
        if (root / mark).exists():
            return kind
    return environ.get("container") or None  # systemd-nspawn, lxc and podman set it


def _or_very_many(limit: int) -> int:
    return VERY_MANY if limit < 0 else limit


def _cxx_names(system: str) -> tuple[str, ...]:
    return {"Darwin": ("clang++",), "Windows": ("cl",)}.get(system, ("g++",))


def _found(environ: Mapping[str, str], variable: str, names: tuple[str, ...]) -> str | None:
    """Path of the compiler that the variable names, else of the first of `names` on the PATH."""
    chosen = environ.get(variable, "").split()
    candidates = tuple(chosen[:1]) or names
    paths = (shutil.which(name, path=environ.get("PATH")) for name in candidates)
    return next((path for path in paths if path), None)


def _memory_bytes() -> int | None:
    try:
        return cpu.memory_bytes()
    except ImportError:  # psutil
        return None
