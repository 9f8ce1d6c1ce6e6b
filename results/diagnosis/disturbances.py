"""Rules on what falsifies a cell's other numbers: other programs, too much of itself, heat."""

from results.diagnosis.finding import Answer, Finding, Ruled, Tier
from results.diagnosis.numbers import Numbers

FOREIGN_SHARE = 0.10  # of the cores; below that the rounding of CPU ticks shows
STEAL_SHARE = 0.05
PRESSURE_SHARE = 0.30  # of the time in which somebody waits for a core
CORES_FULL = 0.85
THERMAL_SHARE = 0.10  # of looks


def foreign_load(cell: Numbers) -> Answer:
    """Others use the cores or the GPU that the cell trains on."""
    load = None
    if cell.foreign_cpu_cores is not None and cell.cpu_cores:
        load = cell.foreign_cpu_cores / cell.cpu_cores
    stolen, processes = cell.steal_share, cell.foreign_gpu_processes
    said, share = [], 0.0
    if load is not None and load > FOREIGN_SHARE:
        said.append(f"others used {cell.foreign_cpu_cores:.1f} of {cell.cpu_cores} cores")
        share = load
    if stolen is not None and stolen > STEAL_SHARE:
        said.append(f"the hypervisor took {stolen:.0%} of the cores' time")
        share = max(share, stolen)
    if processes:
        said.append(f"other processes ({processes}) compute on its GPU")
        share = max(share, 0.5)  # how much of the GPU they take is not told
    if said:
        return Finding(
            binds="foreign load",
            evidence=", ".join(said),
            tier=Tier.DISTURBED,
            share=min(1.0, share),
            remedy="measure again without them",
        )
    unknown = load is None or (not cell.on_cpu and processes is None)
    return Ruled.UNKNOWN if unknown else Ruled.OUT


def oversubscription(cell: Numbers) -> Answer:
    """The cell itself has more to run at once than there are cores, and it shows."""
    if cell.cpu_cores is None:
        return Ruled.UNKNOWN
    # A rank on the CPU has its share of the cores as threads, one next to a GPU is one thread.
    training = max(cell.cpu_cores, cell.world_size) if cell.on_cpu else cell.world_size
    wanted = training + cell.world_size * cell.num_workers
    if wanted <= cell.cpu_cores:
        return Ruled.OUT
    if cell.cpu_pressure_share is None or cell.cpu_used is None:
        return Ruled.UNKNOWN
    if cell.cpu_pressure_share < PRESSURE_SHARE or cell.cpu_used < CORES_FULL:
        return Ruled.OUT  # or the pressure is of others, who are a finding of their own
    fewer = tuple(
        name
        for name, helps in (
            (f"workers{cell.num_workers // 2}", cell.num_workers > 0),
            (f"ddp{cell.world_size // 2}", cell.world_size > 2),
        )
        if helps
    )
    return Finding(
        binds="oversubscription",
        evidence=(
            f"{wanted} threads and workers for {cell.cpu_cores} cores, "
            f"some waited for a core {cell.cpu_pressure_share:.0%} of the time"
        ),
        tier=Tier.DISTURBED,
        share=min(1.0, cell.cpu_pressure_share),
        techniques=fewer,
        remedy="use fewer threads a rank",
    )


def thermal_limit(cell: Numbers) -> Answer:
    """The GPU clocks down because it is hot."""
    if cell.on_cpu:
        return Ruled.OUT
    if cell.thermal_limited_share is None:
        return Ruled.UNKNOWN
    if cell.thermal_limited_share < THERMAL_SHARE:
        return Ruled.OUT
    return Finding(
        binds="thermal limit",
        evidence=f"too hot for its free clocks in {cell.thermal_limited_share:.0%} of looks",
        tier=Tier.DISTURBED,
        share=cell.thermal_limited_share,
        remedy="cool it, no setting helps",
    )
