"""The numbers of a record that rules look at, under one name each; None is unknown."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from results.record import Record

PARTS = ("data", "copy", "forward", "backward", "optimizer", "communication", "other")


@dataclass(frozen=True, kw_only=True)
class Numbers:
    """One cell, the candidate's side of it. Shares are 0 to 1, percentages 0 to 100."""

    device: str = "cpu"
    setting: Mapping[str, Any] = field(default_factory=dict)
    unit: str = "samples"
    world_size: int = 1
    num_workers: int = 0  # of each rank
    shares: Mapping[str, float] | None = None  # of a step, by PARTS; a part may be missing
    samples_per_s: float | None = None
    loader_samples_per_s: float | None = None  # the loader alone
    compute_samples_per_s: float | None = None  # one batch kept on the device
    mfu: float | None = None
    cpu_cores: int | None = None
    cpu_pct: float | None = None  # of the whole tree, 100 is one core
    cpu_busiest_pct: float | None = None  # of the busiest training process
    cpu_pressure_share: float | None = None
    foreign_cpu_cores: float | None = None
    foreign_gpu_processes: int | None = None
    steal_share: float | None = None
    gpu_busy_pct: float | None = None
    sm_active_pct: float | None = None
    tensor_active_pct: float | None = None
    dram_active_pct: float | None = None
    power_limited_share: float | None = None
    thermal_limited_share: float | None = None

    @property
    def on_cpu(self) -> bool:
        """Whether the CPU itself trains."""
        return self.device == "cpu"

    @property
    def cpu_used(self) -> float | None:
        """The share of the usable cores that the cell keeps busy."""
        if self.cpu_pct is None or not self.cpu_cores:
            return None
        return self.cpu_pct / 100 / self.cpu_cores

    @property
    def computing(self) -> float | None:
        """The share of a step in forward, backward and optimizer."""
        if self.shares is None:
            return None
        parts = [self.shares.get(part) for part in ("forward", "backward", "optimizer")]
        known = [part for part in parts if part is not None]
        return sum(known) if len(known) == len(parts) else None

    def share(self, part: str) -> float | None:
        """The share of a step spent in one of PARTS."""
        return None if self.shares is None else self.shares.get(part)


def numbers(record: Record) -> Numbers:
    """What a record knows of its candidate."""
    told = record.telemetry.get("candidate") or {}
    attribution = record.attribution or {}
    by_process = told.get("cpu_by_process_pct") or {}
    training = [pct for name, pct in by_process.items() if name.startswith("training")]
    cores = _number(told.get("cpu_cores"))
    foreign = _number(told.get("foreign_gpu_processes"))
    return Numbers(
        device=str(record.setting.get("device", "cpu")),
        setting=record.setting,
        unit=record.unit,
        world_size=record.world_size or 1,
        num_workers=int(_number(record.setting.get("num_workers")) or 0),
        shares=shares(attribution),
        # of the ceilings' own minute where the look tells it
        samples_per_s=_number(attribution.get("samples_per_s", record.samples_per_s)),
        loader_samples_per_s=_number(attribution.get("loader_samples_per_s")),
        compute_samples_per_s=_number(attribution.get("compute_samples_per_s")),
        mfu=record.mfu,
        cpu_cores=None if cores is None else int(cores),
        cpu_pct=record.cpu_utilization_pct,
        cpu_busiest_pct=max(training, default=None),
        cpu_pressure_share=_number(told.get("cpu_pressure_share")),
        foreign_cpu_cores=_number(told.get("foreign_cpu_cores")),
        foreign_gpu_processes=None if foreign is None else int(foreign),
        steal_share=_number(told.get("steal_share")),
        gpu_busy_pct=record.gpu_utilization_pct,
        sm_active_pct=_number(told.get("gpu_sm_active_pct")),
        tensor_active_pct=_number(told.get("gpu_tensor_active_pct")),
        dram_active_pct=_number(told.get("gpu_dram_active_pct")),
        power_limited_share=_number(told.get("gpu_power_limited_share")),
        thermal_limited_share=_number(told.get("gpu_thermal_limited_share")),
    )


def shares(attribution: Mapping[str, Any]) -> dict[str, float] | None:
    """Seconds of a step by part as shares of their sum; None where nothing was attributed."""
    seconds = {part: _number(attribution.get(f"{part}_s")) for part in PARTS}
    known = {part: max(0.0, value) for part, value in seconds.items() if value is not None}
    total = sum(known.values())
    return {part: value / total for part, value in known.items()} if total > 0 else None


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)
