"""A look inside a candidate, in an arm of its own: where a step's time goes, and profiles."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from benchmarks.engine.arm import Arm
from benchmarks.hardware import Hardware
from benchmarks.peaks import mfu, peak
from results.diagnosis import sentence
from results.record import Record

PART_S = 1.0  # seconds given to each part of the breakdown, about
FEWEST, MOST = 3, 200  # steps of one
PROFILED = 4  # steps in a trace: enough to see a pattern, few enough to open
LIMIT_S = 60.0
PEAK_DTYPES = {  # by precision, what most of the arithmetic is done in
    "fp32": "fp32",
    "tf32": "tf32",
    "amp_bf16": "bf16",
    "bf16": "bf16",
    "amp_fp16": "fp16",
}


def attribute(
    arm: Arm, record: Record, machine: Hardware, offered: Callable[[str], bool]
) -> Record:
    """The record with its attribution, FLOPs, MFU and diagnosis.

    `arm` has just been started with the record's setting; `offered` says which techniques the
    diagnosis may name.

    Raises:
        ArmFault: it failed or took longer than LIMIT_S seconds.
    """
    arm.first_step(LIMIT_S)
    step_s = arm.warm(LIMIT_S)
    steps = min(MOST, max(FEWEST, round(PART_S / step_s)))
    breakdown = arm.look({"do": "break_down", "steps": steps}, LIMIT_S)["breakdown"]
    counted = arm.look({"do": "count_flops"}, LIMIT_S)
    flops, reason = counted["per_step"], counted["reason"]
    step_s = record.step_s["median"] if record.step_s else step_s
    dtype, known = dtype_of(record), peak_of(record, machine)
    if reason:
        breakdown["flops_reason"] = reason
    if flops and dtype and known is None:
        able = arm.look({"do": "multiply", "dtype": dtype}, LIMIT_S)["flops_per_s"]
        share = flops / breakdown["step_s"] / able  # both of the same minute
        breakdown |= {"matmul_flops_per_s": able, "of_matmul_ceiling": share}
    looked = replace(
        record,
        attribution=breakdown,
        flops_per_step=flops,
        mfu=mfu(flops, step_s, counted["devices"], known),
    )
    return replace(looked, diagnosis=sentence(looked, offered))


def profile_by_torch(arm: Arm, record: Record, trace: Path) -> Record:
    """The record with its top operators and the path of a trace of PROFILED steps.

    Raises:
        ArmFault: as in `attribute`.
    """
    arm.first_step(LIMIT_S)
    arm.warm(LIMIT_S)
    order = {"do": "profile", "steps": PROFILED, "trace": str(trace)}
    top = arm.look(order, LIMIT_S)["top"]
    return replace(record, profile={"trace": trace.name, "steps": PROFILED, "top": top})


def nsys_command(report: Path) -> tuple[str, ...]:
    """Nsight Systems around an arm, recording nothing until the arm opens its capture range."""
    return (
        *("nsys", "profile", "--trace=cuda,nvtx,osrt", "--force-overwrite=true"),
        *("--capture-range=cudaProfilerApi", "--capture-range-end=stop", f"--output={report}"),
    )


def profile_by_nsys(arm: Arm, record: Record, report: Path) -> Record:
    """The record with the path of a report of PROFILED steps; the arm runs under `nsys_command`.

    Raises:
        ArmFault: as in `attribute`.
    """
    arm.first_step(LIMIT_S)
    arm.warm(LIMIT_S)
    arm.look({"do": "profile_nsys", "steps": PROFILED}, LIMIT_S)
    arm.leave()  # nsys writes its report when the arm has ended
    return replace(record, profile={"report": report.name, "steps": PROFILED, "top": []})


def dtype_of(record: Record) -> str | None:
    """What the setting computes in, as `peaks` names it."""
    return PEAK_DTYPES.get(record.setting["precision"])


def peak_of(record: Record, machine: Hardware) -> float | None:
    """Dense peak (FLOP/s) of the device for the dtype of the setting; None where unknown."""
    names = [gpu.name for gpu in machine.gpus if gpu.device == record.setting["device"]]
    dtype = dtype_of(record)
    return peak(names[0], dtype) if names and dtype else None
