"""Can torch.compile make code here? Everything else trains without."""

from benchmarks.doctor.facts import Facts
from benchmarks.doctor.finding import Finding, Level

CXX = {"Darwin": "clang++", "Windows": "cl"}
INSTALL = {
    "Darwin": "`xcode-select --install`",
    "Windows": "install Visual Studio's C++ build tools and use their command prompt",
}


def no_cxx(facts: Facts) -> Finding | None:
    """On a CPU torch.compile writes C++."""
    host = facts.host
    if host.cxx:
        return None
    return Finding(
        Level.WARN,
        "torch.compile has no C++ compiler",
        f"no such program: what CXX names, or without it {CXX.get(host.system, 'g++')}",
        INSTALL.get(host.system, "install g++ (`sudo apt install g++`), or set CXX to a compiler")
        + "; until then cells with compile are skipped",
    )


def no_cc(facts: Facts) -> Finding | None:
    """On a GPU Triton compiles its launchers with a C compiler."""
    if facts.torch.accelerator != "cuda" or facts.host.cc or facts.host.system == "Windows":
        return None
    return Finding(
        Level.WARN,
        "Triton, which torch.compile uses on the GPU, has no C compiler",
        "no such program: what CC names, or without it gcc or clang",
        "install gcc (`sudo apt install gcc`), or set CC to a compiler",
    )


def no_triton(facts: Facts) -> Finding | None:
    """On a GPU torch.compile writes Triton."""
    hardware = facts.torch.hardware
    if hardware is None or hardware.accelerator != "cuda" or "triton" in hardware.compilers:
        return None
    return Finding(
        Level.WARN,
        "torch.compile has no Triton for the GPU",
        "the module triton is missing or does not import",
        "install the triton that this torch asks for (`pip install triton`; Windows: "
        "triton-windows)",
    )


def no_headers(facts: Facts) -> Finding | None:
    """What torch.compile makes includes Python.h."""
    if facts.host.python_headers or facts.host.cxx is None:
        return None
    return Finding(
        Level.WARN,
        "torch.compile has no Python headers",
        f"Python.h of Python {facts.packages.python} is not installed",
        "install them (`sudo apt install python3-dev`, of the same Python version)",
    )
