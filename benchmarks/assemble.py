"""From what was measured, and what went wrong, to the record of a cell."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from benchmarks import guards
from benchmarks.cell import Cell
from benchmarks.engine.arm import ArmFault, Opening
from benchmarks.engine.experiment import BASELINE, CANDIDATE, Block, Measurement
from benchmarks.setting import Setting
from results.record import Record

SHARED_FIELDS = ("gpu_utilization_pct", "gpu_power_w", "energy_j_per_sample", "cpu_utilization_pct")
CANDIDATE_FIELDS = ("resident_bytes", "gpu_memory_used_bytes")
LOADER_FIELDS = ("loader_start_s", "first_batch_s")
CLEARLY_SLOWER = 0.5  # a single start is enough to call a candidate slower that is this slow


@dataclass(frozen=True)
class Context:
    """What a record says about its cell besides what was measured."""

    case: str  # "test_matrix[...]"
    cell: Cell
    scale: str
    unit: str  # until an arm has said its own


def unmeasured(context: Context, outcome: str, reason: str | None) -> Record:
    """The record of a cell in which no two arms were compared."""
    return Record(**_identity(context), outcome=outcome, reason=reason)


def assemble(
    context: Context,
    measurement: Measurement,
    telemetry: Mapping[str, Mapping[str, Any]],
    notes: Sequence[str],
    *,
    wall_s: float,
    fault: ArmFault | None = None,
) -> Record:
    """The record of a cell that was tried; of a faulty one, with all that came before the fault."""
    checked = guards.inspect(context.cell, measurement.evidence)
    outcome, reason = judge(measurement, checked, fault)
    fields: dict[str, Any] = {
        **_identity(context),
        "outcome": outcome,
        "reason": reason,
        "notes": [
            *notes,
            *([measurement.stopped] if measurement.stopped and outcome == "ok" else []),
            *epoch_starts(measurement),
            *cached(measurement.openings[CANDIDATE], context.cell.setting),
        ],
        "guards": checked,
        "log": fault.log if fault else [],
        "wall_s": wall_s,
        **_openings(measurement, context.cell),
    }
    if measurement.blocks:
        fields |= _comparison(measurement, context.cell)
        if fault or outcome == "invalid":
            fields["verdict"] = None  # half a comparison, or not with what the row names
        fields |= _times(measurement.blocks)
        units_per_step = measurement.openings[CANDIDATE][0].units_per_step
        fields["break_even_steps"] = break_even_steps(fields, units_per_step)
    elif measurement.bound is not None:
        fields |= _bounded(measurement)
    fields |= _telemetry(telemetry, measurement)
    fields |= {name: _seen(measurement, CANDIDATE, name) for name in LOADER_FIELDS}
    fields |= _losses(measurement)
    return Record(**fields)


def judge(
    measurement: Measurement, checked: Sequence[guards.Guard], fault: ArmFault | None
) -> tuple[str, str | None]:
    """Outcome and reason: a fault first, then a guard that failed, then too little time."""
    if fault:
        return fault.outcome, fault.reason
    broken = [f"{guard['name']}: {guard['detail']}" for guard in checked if not guard["ok"]]
    if broken:
        return "invalid", "; ".join(broken)
    if len(measurement.log_ratios) < 2 and measurement.stopped:
        return "timed_out", measurement.stopped
    return "ok", None


def _identity(context: Context) -> dict[str, Any]:
    cell = context.cell
    return {
        "cell": context.case,
        "workload": cell.label,
        "scale": context.scale,
        "unit": context.unit,
        "setting": cell.setting.to_dict(),
        "baseline": cell.baseline.to_dict(),
        "technique": cell.technique,
        "goal": cell.goal,
        "world_size": cell.setting.world_size,
    }


def _openings(measurement: Measurement, cell: Cell) -> dict[str, Any]:
    candidate, baseline = (measurement.openings[arm] for arm in (CANDIDATE, BASELINE))
    fields: dict[str, Any] = {
        "cold_s": _cold_s(candidate, cell.setting),
        "baseline_cold_s": _cold_s(baseline, cell.baseline),
        "launch_s": _median(candidate, "launch_s"),
    }
    if candidate or baseline:
        fields |= {"unit": (candidate or baseline)[0].unit}
    if candidate:
        fields |= {"batch": candidate[0].batch}
    return fields


def _cold_s(openings: Sequence[Opening], setting: Setting) -> float | None:
    """Of a compiled model the first start's alone: later ones find its kernels on the disk."""
    return _median(openings if setting.compile == "none" else openings[:1], "cold_s")


def _median(openings: Sequence[Opening], name: str) -> float | None:
    return statistics.median(getattr(opening, name) for opening in openings) if openings else None


def epoch_starts(measurement: Measurement) -> list[str]:
    """A note on what the end of an epoch costs, where there were any in both arms."""
    ours, theirs = (_seen(measurement, arm, "epoch_start_s") for arm in (CANDIDATE, BASELINE))
    if ours is None or theirs is None:
        return []
    return [f"an epoch's first batch came after {ours:.2g} s, the baseline's after {theirs:.2g} s"]


def _seen(measurement: Measurement, arm: str, name: str) -> float | None:
    """Median over starts of what the evidence of an arm says; None where it says nothing."""
    told = [evidence.get(name) for evidence in measurement.evidence[arm]]
    return statistics.median(known) if (known := [t for t in told if t is not None]) else None


def cached(openings: Sequence[Opening], setting: Setting) -> list[str]:
    """A note on what the first step of a compiled model takes where its kernels are found."""
    later = _median(openings[1:], "cold_s")
    if setting.compile == "none" or later is None:
        return []
    return [
        f"first step {openings[0].cold_s:.3g} s, and {later:.3g} s in later starts, "
        "which found the compiled kernels on the disk"
    ]


def _comparison(measurement: Measurement, cell: Cell) -> dict[str, Any]:
    from results.statistics import estimate, verdict

    ratios = measurement.log_ratios
    found = estimate(ratios)
    fields: dict[str, Any] = {
        "speedup": found.speedup,
        "speedup_low": found.low,
        "speedup_high": found.high,
        "detectable": found.detectable,
        "verdict": verdict(found),
        "log_ratios": ratios,
        "starts": len(ratios),
    }
    if len(ratios) < 2 and found.speedup < CLEARLY_SLOWER:
        fields["verdict"] = "slower"
    if scales(cell):
        candidate, baseline = (measurement.openings[arm][0] for arm in (CANDIDATE, BASELINE))
        batches = [arm.units_per_step / arm.batch for arm in (candidate, baseline)]
        fields["scaling_efficiency"] = found.speedup / (batches[0] / batches[1])
    return fields


def scales(cell: Cell) -> bool:
    """Whether the cell asks what more devices bring, and nothing else, by sharing out the batch.

    The global batch grows with them (weak scaling), or is kept by a smaller one for each (strong).
    Stages of one model are neither: they work one behind the other on the same samples.
    """
    alike = replace(cell.setting, parallel="single", batch=cell.baseline.batch)
    return (
        alike == cell.baseline
        and cell.setting.parallel != "single"
        and cell.setting.strategy not in ("mp", "pp")
    )


def _bounded(measurement: Measurement) -> dict[str, Any]:
    """Not one step was finished: the candidate is at most this fast."""
    baseline = measurement.openings[BASELINE][0]
    assert measurement.bound is not None
    return {
        "speedup_high": measurement.bound * baseline.step_s / baseline.units_per_step,
        "verdict": "slower",
    }


def _times(blocks: Sequence[Block]) -> dict[str, Any]:
    from results.statistics import step_quantiles

    fields: dict[str, Any] = {}
    for arm, prefix in ((CANDIDATE, ""), (BASELINE, "baseline_")):
        timed = [block.timed for block in blocks if block.arm == arm]
        fields[f"{prefix}samples_per_s"] = sum(t.units for t in timed) / sum(
            t.seconds for t in timed
        )
        fields[f"{prefix}step_s"] = step_quantiles([s for t in timed for s in t.step_s])
    return {
        **fields,
        "pairs": len({(block.start, block.pair) for block in blocks}),
        "timed_s": sum(block.timed.seconds for block in blocks),
        "blocks": [
            {
                "start": block.start,
                "pair": block.pair,
                "arm": block.arm,
                "steps": block.timed.steps,
                "samples": block.timed.units,
                "seconds": block.timed.seconds,
            }
            for block in blocks
        ],
    }


def _telemetry(
    telemetry: Mapping[str, Mapping[str, Any]], measurement: Measurement
) -> dict[str, Any]:
    """Named fields of the candidate's and the baseline's summary; the rest as it is.

    Peak memory is torch's own figure: null on a CPU, whose allocator keeps none.
    """
    fields: dict[str, Any] = {"telemetry": {arm: dict(found) for arm, found in telemetry.items()}}
    for name in SHARED_FIELDS:
        fields[name] = telemetry[CANDIDATE].get(name)
        fields[f"baseline_{name}"] = telemetry[BASELINE].get(name)
    for name in CANDIDATE_FIELDS:
        fields[name] = telemetry[CANDIDATE].get(name)
    for arm, prefix in ((CANDIDATE, ""), (BASELINE, "baseline_")):
        told = [evidence["peak_memory_bytes"] for evidence in measurement.evidence[arm]]
        fields[f"{prefix}peak_memory_bytes"] = max(
            (peak for peak in told if peak is not None), default=None
        )
    reserved = [evidence["peak_reserved_bytes"] for evidence in measurement.evidence[CANDIDATE]]
    fields["peak_reserved_bytes"] = max((r for r in reserved if r is not None), default=None)
    return fields


def _losses(measurement: Measurement) -> dict[str, Any]:
    """Of the first start; one that is not finite is left out, the guards say so."""
    fields = {}
    for arm, name in ((CANDIDATE, "losses"), (BASELINE, "baseline_losses")):
        losses = measurement.evidence[arm][0]["losses"] if measurement.evidence[arm] else []
        fields[name] = [loss for loss in losses if math.isfinite(loss)]
    return fields


def break_even_steps(fields: Mapping[str, Any], units_per_step: int) -> float | None:
    """Steps until the candidate has repaid what its first step cost more; None: never."""
    if fields["cold_s"] is None or fields["baseline_cold_s"] is None:
        return None
    seconds_saved_per_unit: float = (
        1 / fields["baseline_samples_per_s"] - 1 / fields["samples_per_s"]
    )
    if seconds_saved_per_unit <= 0:
        return None
    extra_s: float = max(0.0, fields["cold_s"] - fields["baseline_cold_s"])
    return extra_s / (seconds_saved_per_unit * units_per_step)
