"""What is true of a rank's process: its allocator, and the instructions that oneDNN uses."""

import ctypes
import os
import re
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import torch

LARGE = 64 << 20  # bytes; glibc maps blocks apart from 32 MiB on, however often it adapts
ALLOCATORS = ("jemalloc", "tcmalloc")


def read_back(device: torch.device) -> dict[str, Any]:
    return {
        "peak_resident_bytes": peak_resident_bytes(),
        "allocators": mapped_allocators(Path("/proc/self/maps")),
        "large_blocks_mapped": large_blocks_mapped(),
        "jemalloc_decay_ms": jemalloc_decay_ms(),
        "huge_pages": huge_pages_under(
            torch.empty(LARGE, dtype=torch.uint8), Path("/proc/self/smaps")
        ),
        "onednn_isa": onednn_isa() if device.type == "cpu" else None,
    }


def peak_resident_bytes() -> int | None:
    """Most RAM that this process ever had; None on Windows."""
    if sys.platform == "win32":
        return None
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak * (1 if sys.platform == "darwin" else 1024)


def mapped_allocators(maps: Path) -> list[str] | None:
    """Those of ALLOCATORS whose library is in this process; None where that cannot be seen."""
    try:
        text = maps.read_text()
    except OSError:
        return None
    return [name for name in ALLOCATORS if re.search(rf"/lib{name}[^/]*\.so", text)]


class _Mallinfo(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_int)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    ]


def _library_with(function: str) -> ctypes.CDLL | None:
    """What this process has loaded, where that holds the function; None on other than Linux."""
    library = ctypes.CDLL(None) if sys.platform == "linux" else None
    return library if library is not None and hasattr(library, function) else None


def large_blocks_mapped() -> bool | None:
    """Whether glibc maps a large block apart from its heap; None where malloc is not glibc's."""
    library = _library_with("mallinfo")
    if library is None:
        return None
    library.mallinfo.restype = _Mallinfo
    library.malloc.restype = ctypes.c_void_p
    library.malloc.argtypes = [ctypes.c_size_t]
    library.free.argtypes = [ctypes.c_void_p]
    before = library.mallinfo().hblks
    block = library.malloc(LARGE)
    mapped = library.mallinfo().hblks - before
    library.free(block)
    return bool(mapped)


def jemalloc_decay_ms() -> int | None:
    """How long jemalloc keeps freed pages, -1 for ever; None where malloc is not jemalloc's."""
    library = _library_with("mallctl")
    if library is None:
        return None
    found = ctypes.c_ssize_t()
    size = ctypes.c_size_t(ctypes.sizeof(found))
    unknown = library.mallctl(
        b"opt.dirty_decay_ms", ctypes.byref(found), ctypes.byref(size), None, ctypes.c_size_t(0)
    )
    return None if unknown else found.value


def huge_pages_under(tensor: torch.Tensor, smaps: Path) -> bool | None:
    """Whether the kernel was asked for huge pages there (VmFlags hg); None where nobody can see."""
    inside = False
    try:
        with smaps.open() as lines:  # the kernel writes it as it is read: no further than needed
            for line in lines:
                if found := re.match(r"([0-9a-f]+)-([0-9a-f]+) ", line):
                    low, high = (int(bound, 16) for bound in found.groups())
                    inside = low <= tensor.data_ptr() < high
                elif inside and line.startswith("VmFlags:"):
                    return "hg" in line.split()
    except OSError:
        pass
    return None


@cache  # it introduces itself once in a process
def onednn_isa() -> str | None:
    """The instruction set that oneDNN says it uses; None where there is none, or it is silent."""
    if not torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
        return None
    with tempfile.TemporaryFile() as file:
        sys.stdout.flush()
        usual = os.dup(1)
        os.dup2(file.fileno(), 1)
        try:
            with torch.backends.mkldnn.verbose(  # type: ignore[no-untyped-call]
                torch.backends.mkldnn.VERBOSE_ON
            ):
                torch.relu(torch.ones(4, 4).to_mkldnn())
            ctypes.CDLL(None).fflush(None)
        finally:
            os.dup2(usual, 1)
            os.close(usual)
        file.seek(0)
        found = re.search(rb"info,cpu,isa:(.*)", file.read())
    return found[1].decode().strip() if found else None
