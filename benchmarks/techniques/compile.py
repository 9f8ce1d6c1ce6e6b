"""The model compiled by torch.compile."""

from collections.abc import Sequence

from benchmarks.hardware import Hardware
from benchmarks.setting import Setting
from benchmarks.techniques.nvidia import VOLTA, is_amd, too_old
from benchmarks.techniques.technique import Evidence, Finding, Technique

CPP_COMPILERS = ("g++", "clang++", "cl")
WITHOUT = {
    "dp": "DataParallel copies the model anew in every step",
    "mp": "a model on two devices is cut where they meet",
    "pp": "a pipeline calls its stages itself",
    "fsdp": "it is made whole layer by layer, and would be compiled so",
}
FIRST_STEP_S = 300.0


def _compiled(setting: Setting, evidence: Evidence) -> Finding:
    """Compiled, and still called in a step: after graph breaks, what is between them is not."""
    mode, calls = evidence["compiled"], evidence["compiled_calls"]
    if setting.compile == "none":
        return mode == "none" and not calls, f"{calls} calls of compiled code in a step"
    if mode != setting.compile:
        return False, f"the model's mode of compilation is {mode}"
    breaks = evidence["graph_breaks"]
    said = f"{evidence['graphs']} graphs in mode {mode}, {breaks} graph breaks"
    said += "".join(f" ({reason})" for reason in evidence["graph_break_reasons"])
    said += f", {calls} calls of compiled code in a step"
    return evidence["compiled_frames"] > 0 and calls > 0, said


def _cuda_graphs(setting: Setting, evidence: Evidence) -> Finding | None:
    if setting.compile != "reduce-overhead" or evidence["compiled"] == "none":
        return None
    graphs, skips = evidence["cuda_graphs"], evidence["cuda_graph_skips"]
    return bool(graphs) and not skips, f"{graphs} CUDA graphs recorded, {skips} parts skipped"


def _compiler(hardware: Hardware, setting: Setting) -> str | None:
    if reason := WITHOUT.get(setting.strategy):
        return f"compile does not go with {setting.parallel}: {reason}"
    if setting.device == "cpu":
        if any(name in hardware.compilers for name in CPP_COMPILERS):
            return None
        return "compile needs a C++ compiler on a CPU, found none: install g++"
    if setting.device == "mps":
        return None  # Metal comes with the system
    if "triton" not in hardware.compilers:
        return "compile needs the package triton on a GPU, found none"
    return None if is_amd(hardware) else too_old(hardware, "compile", VOLTA)


def _cuda_graphs_and_compiler(hardware: Hardware, setting: Setting) -> str | None:
    if setting.device != "cuda":
        return f"compile_reduce_overhead needs CUDA graphs, {setting.device} has none"
    return _compiler(hardware, setting)


CHECKS = {"compile": _compiled, "cuda_graphs": _cuda_graphs}
COMPILE = Technique(
    name="compile",
    change={"compile": "default"},
    why="fuses what lies between matrix products; pays off after a first step of minutes",
    api="torch.compile(model)",
    needs=_compiler,
    checks=CHECKS,
    first_step_s=FIRST_STEP_S,
)
REDUCE_OVERHEAD = Technique(
    name="compile_reduce_overhead",
    change={"compile": "reduce-overhead"},
    why="replays CUDA graphs: for small batches, where launching kernels is what takes time",
    api='torch.compile(model, mode="reduce-overhead")',
    needs=_cuda_graphs_and_compiler,
    checks=CHECKS,
    first_step_s=FIRST_STEP_S,
)
MAX_AUTOTUNE = Technique(
    name="compile_max_autotune",
    change={"compile": "max-autotune"},
    why="tries several kernels for each matrix product; compiles longest, for long trainings",
    api='torch.compile(model, mode="max-autotune")',
    needs=_compiler,
    checks=CHECKS,
    first_step_s=2 * FIRST_STEP_S,
)


def techniques(cores: int) -> Sequence[Technique]:
    return (COMPILE, REDUCE_OVERHEAD, MAX_AUTOTUNE)
