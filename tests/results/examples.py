"""Realistic records to test with: a laptop's run with every kind of row in it."""

import math
from typing import Any

from results.record import Record, StepTimes
from results.statistics import estimate, verdict

PLAIN = {"device": "cpu", "precision": "fp32", "num_workers": 0, "parallel": "single"}
MIB = 2**20


def record(name: str = "amp_bf16", **given: Any) -> Record:
    """A record of one cell; `given` replaces any field."""
    fields: dict[str, Any] = {
        "cell": f"test_matrix[resnet18-cpu-{name}]",
        "workload": "resnet18",
        "scale": "tiny",
        "unit": "images",
        "setting": PLAIN,
        "baseline": PLAIN,
        "technique": name,
        "outcome": "ok",
        "reason": None,
    }
    return Record(**(fields | given))


def compared(name: str, ratios: list[float], **given: Any) -> Record:
    """A measured cell: throughput ratios of its starts, everything else follows from them."""
    logs = [math.log(ratio) for ratio in ratios]
    found = estimate(logs)
    step = 0.124 / found.speedup
    fields: dict[str, Any] = {
        "speedup": found.speedup,
        "speedup_low": found.low,
        "speedup_high": found.high,
        "detectable": found.detectable,
        "verdict": verdict(found),
        "log_ratios": logs,
        "samples_per_s": 64.3 * found.speedup,
        "baseline_samples_per_s": 64.3,
        "step_s": StepTimes(median=step, p10=step * 0.96, p90=step * 1.13, p99=step * 1.4),
        "baseline_step_s": StepTimes(median=0.124, p10=0.12, p90=0.14, p99=0.17),
        "pairs": 4 * len(ratios),
        "starts": len(ratios),
        "batch": 8,
        "world_size": 1,
        "cpu_utilization_pct": 187.4,
        "resident_bytes": 812 * MIB,
        "wall_s": 23.0,
        "timed_s": 14.5,
    }
    return record(name, **(fields | given))


def laptop_run() -> list[Record]:
    """Nine cells of one workload on a CPU-only laptop."""
    workers = PLAIN | {"num_workers": 2}
    bf16 = PLAIN | {"precision": "amp_bf16"}
    fp16 = PLAIN | {"precision": "amp_fp16"}
    ddp = PLAIN | {"parallel": "ddp2"}
    return [
        compared("control", [1.004, 0.991, 1.012, 0.996]),
        compared("workers2", [1.21, 1.26, 1.24, 1.23], setting=workers),
        compared("amp_bf16", [0.951, 0.958, 0.949, 0.96], setting=bf16),
        compared(
            "workers2 + amp_bf16",
            [1.18, 1.25, 1.31, 1.22],
            setting=PLAIN | {"num_workers": 2, "precision": "amp_bf16"},
            notes=["other programs used 41% of the CPU"],
        ),
        compared("ddp2", [1.02, 1.09, 0.97, 1.05], setting=ddp, world_size=2),
        record(
            "amp_fp16",
            setting=fp16,
            outcome="timed_out",
            reason="no step within 20 s; the plain setting takes 0.12 s",
            verdict="slower",
            speedup_high=0.0062,
            batch=8,
            wall_s=41.0,
            timed_s=20.3,
        ),
        record("dp", outcome="skipped", reason="dp needs 2 GPUs, found 0"),
        record("workers2 + dp", outcome="skipped", reason="dp needs 2 GPUs, found 0"),
        record(
            "workers2 + ddp2",
            outcome="failed",
            reason="rank 1 ended with signal 9 (killed): was memory short?",
        ),
    ]
