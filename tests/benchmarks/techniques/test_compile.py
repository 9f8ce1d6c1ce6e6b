"""Compiled code is believed when it is seen to be called, and never lost unnoticed."""

import sys
from dataclasses import replace

import pytest
import torch

from benchmarks.assemble import cached
from benchmarks.cell import Cell
from benchmarks.engine.arm import Opening
from benchmarks.measuring import own_kernels
from benchmarks.setting import Setting
from benchmarks.techniques.compile import COMPILE, MAX_AUTOTUNE, REDUCE_OVERHEAD
from benchmarks.training.compiling import calls, compile_model, compiled_part, read_back
from tests.benchmarks.machines import hardware
from tests.benchmarks.small_training import Model, training
from tests.benchmarks.techniques.seen import believed, seen_of

COMPILED = Setting(compile="default")
# of a compiled training, less what the check does not ask for
EVIDENCE = {
    "compiled": "default",
    "compiled_frames": 1,
    "graphs": 1,
    "graph_breaks": 0,
    "graph_break_reasons": [],
    "compiled_calls": 2,
    "cuda_graphs": None,
    "cuda_graph_skips": 0,
}


def test_a_compiled_training_shows_calls_of_compiled_code_in_a_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With Dynamo and autograd for real; Inductor's C++ compiler takes longer than all else."""
    original = torch.compile
    monkeypatch.setattr(torch, "compile", lambda model, mode: original(model, backend="aot_eager"))
    with training() as plain:
        for _ in range(3):
            plain.step()
        expected = plain.losses()
    with training(compile="default", precision="amp_bf16") as trained:
        for _ in range(2):
            trained.step()
        evidence = seen_of(trained)
    assert evidence["compiled_frames"] > 0
    assert evidence["graph_breaks"] == 0
    assert evidence["compiled_calls"] == 2  # forward and backward
    assert evidence["compute_dtype"] == "bfloat16"  # of layers that call no hooks when compiled
    assert evidence["strategy"] == "none"
    assert believed("compile", COMPILED, evidence)
    assert not believed("compile", Setting(), evidence)
    assert evidence["losses"] == pytest.approx(expected[:2], rel=0.05)
    torch._dynamo.reset()


def test_without_it_nothing_is_compiled() -> None:
    with training() as trained:
        evidence = seen_of(trained)
    assert evidence["compiled"] == "none"
    assert evidence["compiled_calls"] == 0
    assert believed("compile", Setting(), evidence)
    assert not believed("compile", COMPILED, evidence)
    assert not believed("compile", Setting(), evidence, compiled_calls=2)


@pytest.mark.parametrize("mode", ["default", "reduce-overhead", "max-autotune"])
def test_the_mode_is_read_back_from_what_it_turned_on(mode: str) -> None:
    setting = Setting(compile=mode)
    told = read_back(compile_model(Model(), setting))["compiled"]
    assert told == mode
    assert believed("compile", setting, EVIDENCE, compiled=told)


def test_falling_back_to_plain_python_is_an_error() -> None:
    compile_model(Model(), COMPILED)
    config = sys.modules["torch._dynamo"].config
    assert not config.suppress_errors
    assert config.fail_on_recompile_limit_hit


def test_compiled_code_that_no_step_calls_is_not_believed() -> None:
    assert believed("compile", COMPILED, EVIDENCE)
    assert not believed("compile", COMPILED, EVIDENCE, compiled_calls=0)
    assert not believed("compile", COMPILED, EVIDENCE, compiled_frames=0)
    assert not believed("compile", COMPILED, EVIDENCE, compiled="none")


def test_reduce_overhead_is_believed_with_cuda_graphs_only() -> None:
    replayed = Setting(compile="reduce-overhead")
    assert believed("cuda_graphs", replayed, EVIDENCE, cuda_graphs=2)
    assert not believed("cuda_graphs", replayed, EVIDENCE, cuda_graphs=0)
    assert not believed("cuda_graphs", replayed, EVIDENCE, cuda_graphs=2, cuda_graph_skips=1)


def test_the_model_itself_stays_as_it_is() -> None:
    model = Model()
    compiled = compile_model(model, COMPILED)
    assert compile_model(model, Setting()) is model
    assert compiled_part(model) is None
    assert compiled_part(torch.nn.DataParallel(compiled)) is compiled
    assert calls(["CompiledFunction", "aten::mm", "CompiledFunctionBackward"]) == 2


def test_it_needs_a_compiler() -> None:
    cpu, gpu = hardware(), hardware(gpus=1)
    bare = "compile needs a C++ compiler on a CPU, found none: install g++"
    assert COMPILE.needs(cpu, COMPILED) == bare
    assert COMPILE.needs(replace(cpu, compilers={"g++": "/usr/bin/g++"}), COMPILED) is None
    cuda = replace(COMPILED, device="cuda")
    assert "triton" in (COMPILE.needs(gpu, cuda) or "")
    with_triton = replace(gpu, compilers={"triton": "3.5"})
    assert COMPILE.needs(with_triton, cuda) is None
    assert MAX_AUTOTUNE.needs(with_triton, cuda) is None
    old = replace(with_triton, gpus=tuple(replace(g, capability=(6, 1)) for g in gpu.gpus))
    assert COMPILE.needs(old, cuda) == "compile needs compute capability 7.0, A GPU has 6.1"


def test_cuda_graphs_need_cuda_and_some_strategies_do_not_go_with_it() -> None:
    machine = replace(hardware(gpus=2), compilers={"g++": "/usr/bin/g++", "triton": "3.5"})
    assert REDUCE_OVERHEAD.needs(machine, REDUCE_OVERHEAD.apply(Setting())) == (
        "compile_reduce_overhead needs CUDA graphs, cpu has none"
    )
    cuda = replace(COMPILED, device="cuda")
    assert COMPILE.needs(machine, replace(cuda, parallel="ddp2")) is None
    for parallel in ("dp", "mp", "pp2", "fsdp2"):
        assert parallel in (COMPILE.needs(machine, replace(cuda, parallel=parallel)) or "")


# Cold cost


def test_a_cell_about_compiling_starts_without_kernels_and_leaves_none() -> None:
    cell = Cell("gpt2", (COMPILE,), baseline=Setting(), device="cpu")
    with own_kernels(cell) as first, own_kernels(cell) as second:
        assert first
        assert first != second
    standing_on_it = replace(cell, axes=(), baseline=COMPILED)
    with own_kernels(standing_on_it) as usual:
        assert usual is None


def test_later_starts_that_found_the_kernels_are_told_apart() -> None:
    opening = Opening(
        launch_s=0.1, cold_s=61.0, step_s=0.1, units_per_step=1, unit="tokens", batch=1, gpus=()
    )
    openings = [opening, replace(opening, cold_s=7.0), replace(opening, cold_s=9.0)]
    assert cached(openings, COMPILED) == [
        "first step 61 s, and 8 s in later starts, which found the compiled kernels on the disk"
    ]
    assert cached(openings[:1], COMPILED) == []
    assert cached(openings, Setting()) == []
