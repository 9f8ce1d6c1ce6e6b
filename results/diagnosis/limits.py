"""Rules on what a device that always works is short of: power, memory bandwidth, arithmetic."""

from results.diagnosis.finding import Answer, Finding, Ruled, Tier
from results.diagnosis.numbers import Numbers
from results.diagnosis.untried import untried

POWER_SHARE = 0.20  # of looks
DRAM_PCT = 60.0  # of the memory's peak bandwidth, of which some 90% can be had
BUSY_PCT = 85.0
TENSOR_PCT = 40.0  # of the tensor cores' time: a training in large matrix products
MFU = 0.35
COMPUTING = 0.60
CORES_FULL = 0.80
CLOSE = 0.85  # of the compute ceiling


def power_limit(cell: Numbers) -> Answer:
    """The GPU clocks down to stay below its power cap."""
    if cell.on_cpu:
        return Ruled.OUT
    if cell.power_limited_share is None:
        return Ruled.UNKNOWN
    if cell.power_limited_share < POWER_SHARE:
        return Ruled.OUT
    return Finding(
        binds="power limit",
        evidence=f"the cap held its clocks down in {cell.power_limited_share:.0%} of looks",
        tier=Tier.LIMITED,
        share=cell.power_limited_share,
        techniques=untried(cell, "tf32", "amp_bf16"),
        remedy="raise the cap if you may",
    )


def memory_bandwidth(cell: Numbers) -> Answer:
    """The GPU's memory is near the bandwidth it has, its arithmetic is not near its peak."""
    if cell.dram_active_pct is None:
        return Ruled.UNKNOWN  # a CPU does not tell, nor a GPU before Hopper
    if cell.dram_active_pct < DRAM_PCT:
        return Ruled.OUT
    return Finding(
        binds="memory bandwidth",
        evidence=f"{cell.dram_active_pct:.0f}% of the memory's peak bandwidth is in use",
        tier=Tier.LIMITED,
        share=cell.dram_active_pct / 100,
        techniques=untried(cell, "amp_bf16", "compile", "channels_last", "optimizer_fused"),
        remedy="fuse more: it reads and writes too much for each operation",
    )


def compute(cell: Numbers) -> Answer:
    """The arithmetic itself."""
    return _cpu_compute(cell) if cell.on_cpu else _gpu_compute(cell)


def _cpu_compute(cell: Numbers) -> Answer:
    computing, used = cell.computing, cell.cpu_used
    if (computing is not None and computing < COMPUTING) or (
        used is not None and used < CORES_FULL
    ):
        return Ruled.OUT
    if computing is None or used is None:
        return Ruled.UNKNOWN
    said = [f"{computing:.0%} of a step computes, {used:.0%} of the cores' time is used"]
    if cell.mfu is not None:
        said.append(f"MFU {cell.mfu:.0%}")
    return Finding(
        binds="compute",
        evidence=", ".join(said),
        tier=Tier.LIMITED,
        share=computing,
        # Not bf16: a CPU without units for it takes many times longer.
        techniques=untried(cell, "channels_last", "compile"),
        remedy="use a smaller model or a faster machine",
    )


def _gpu_compute(cell: Numbers) -> Answer:
    if cell.gpu_busy_pct is not None and cell.gpu_busy_pct < BUSY_PCT:
        return Ruled.OUT
    proofs = _proofs_of_compute(cell)
    if cell.gpu_busy_pct is None or not proofs:
        return Ruled.UNKNOWN
    if not any(proved for proved, _ in proofs):
        return Ruled.OUT
    said = [f"the GPU is busy {cell.gpu_busy_pct:.0f}%", *(text for _, text in proofs)]
    computing = cell.computing
    return Finding(
        binds="compute",
        evidence=", ".join(said),
        tier=Tier.LIMITED,
        share=cell.gpu_busy_pct / 100 if computing is None else computing,
        techniques=(
            *untried(cell, "amp_bf16", "tf32", "compile"),
            *(("ddp2",) if cell.world_size == 1 else ()),
        ),
        remedy="use more GPUs",
    )


def _proofs_of_compute(cell: Numbers) -> list[tuple[bool, str]]:
    """Busy says only that some kernel ran: these tell whether it was arithmetic."""
    found = []
    if cell.tensor_active_pct is not None:
        pct = cell.tensor_active_pct
        found.append((pct >= TENSOR_PCT, f"its tensor cores {pct:.0f}%"))
    if cell.mfu is not None:
        found.append((cell.mfu >= MFU, f"MFU {cell.mfu:.0%}"))
    if cell.compute_samples_per_s and cell.samples_per_s and cell.computing is not None:
        near = cell.samples_per_s / cell.compute_samples_per_s
        proved = near >= CLOSE and cell.computing >= COMPUTING
        found.append((proved, f"{near:.0%} of what it computes without a loader"))
    return found
