"""Rules on what the training waits for: data, copies, other ranks, launches, idle cores."""

from results.diagnosis.finding import Answer, Finding, Ruled, Tier
from results.diagnosis.numbers import Numbers
from results.diagnosis.untried import untried

DATA_SHARE = 0.25  # of a step: less is not worth a loader process
CLOSE = 0.85  # of a ceiling
COPY_SHARE = 0.15
COMMUNICATION_SHARE = 0.20
COMPUTING = 0.50
GPU_IDLE_PCT = 80.0  # busy for less than that while it should compute
ONE_CORE_PCT = 80.0  # a training process that mostly launches
CORES_IDLE = 0.60


def data_loading(cell: Numbers) -> Answer:
    """Steps wait for their batch, or the loader alone is slower than compute and sets the pace."""
    waiting = cell.share("data")
    loader, compute = cell.loader_samples_per_s, cell.compute_samples_per_s
    paced = bool(
        loader
        and compute
        and cell.samples_per_s
        and loader < compute
        and cell.samples_per_s >= CLOSE * loader
    )
    if waiting is None and not paced:
        return Ruled.UNKNOWN
    if not paced and (waiting or 0.0) < DATA_SHARE:
        return Ruled.OUT
    said = [] if waiting is None else [f"{waiting:.0%} of a step waits for data"]
    if loader and compute:
        said.append(
            f"the loader alone gives {loader:,.0f} {cell.unit}/s, compute takes {compute:,.0f}"
        )
    share = waiting or 0.0
    if paced and loader and compute:
        share = max(share, 1 - loader / compute)
    return Finding(
        binds="data loading",
        evidence=", ".join(said),
        tier=Tier.WAITING,
        share=share,
        techniques=(*_more_workers(cell), *_cheaper_batches(cell)),
        remedy="make a batch cheaper to load: the cores are full",
    )


def _more_workers(cell: Numbers) -> tuple[str, ...]:
    """Where cores are free; on a full machine they would take from whom they serve."""
    if cell.cpu_used is not None and cell.cpu_used >= CLOSE:
        return ()
    cores = cell.cpu_cores or 0
    more = 2 if cell.num_workers == 0 else 2 * cell.num_workers
    return (f"workers{more}",) if not cores or cell.world_size * more <= cores else ()


def _cheaper_batches(cell: Numbers) -> tuple[str, ...]:
    """Less work for each image, and beside an accelerator some of it done there."""
    if cell.on_cpu:
        return untried(cell, "pre_resized", "decode_torchvision")
    return untried(cell, "pre_resized", "decode_torchvision", "device_augment", "device_decode")


def copies(cell: Numbers) -> Answer:
    """Batches travel from host to device while neither computes."""
    if cell.on_cpu:
        return Ruled.OUT
    share = cell.share("copy")
    if share is None:
        return Ruled.UNKNOWN
    if share < COPY_SHARE:
        return Ruled.OUT
    return Finding(
        binds="host-to-device copies",
        evidence=f"{share:.0%} of a step copies",
        tier=Tier.WAITING,
        share=share,
        techniques=untried(cell, "pinned_non_blocking", "copy_stream"),
        remedy="send smaller types, as uint8 images, and convert on the device",
    )


def communication(cell: Numbers) -> Answer:
    """Ranks wait for each other or for the gradients' exchange; what overlaps does not count."""
    if cell.world_size == 1 and cell.setting.get("parallel") != "dp":
        return Ruled.OUT
    share = cell.share("communication")
    if share is None:
        return Ruled.UNKNOWN
    if share < COMMUNICATION_SHARE:
        return Ruled.OUT
    data_parallel = cell.setting.get("parallel") == "dp"
    # A step exchanges the same gradients whatever its batch: more samples pay for them.
    larger = untried(cell, "batch_x2", "batch_x4")
    return Finding(
        binds="communication",
        evidence=f"{share:.0%} of a step is exposed communication",
        tier=Tier.WAITING,
        share=share,
        techniques=("ddp2", *larger) if data_parallel else larger,
        remedy="use fewer ranks, or a faster link between them",
    )


def kernel_launches(cell: Numbers) -> Answer:
    """The GPU idles inside forward and backward: the host cannot launch kernels fast enough."""
    if cell.on_cpu:
        return Ruled.OUT
    busy = cell.gpu_busy_pct
    if busy is not None and busy >= GPU_IDLE_PCT:
        return Ruled.OUT
    computing = cell.computing
    if computing is not None and computing < COMPUTING:
        return Ruled.OUT  # it idles for another reason
    host = cell.cpu_busiest_pct
    if host is not None and host < ONE_CORE_PCT:
        return Ruled.OUT
    if busy is None or computing is None or host is None:
        return Ruled.UNKNOWN
    return Finding(
        binds="kernel launches",
        evidence=(
            f"the GPU is busy {busy:.0f}% though {computing:.0%} of a step computes, "
            f"the process that launches keeps {host:.0f}% of a core busy"
        ),
        tier=Tier.WAITING,
        share=computing * (1 - busy / 100),
        techniques=untried(cell, "compile_reduce_overhead", "compile", "batch_x2"),
        remedy="give each launch more to do: a larger batch or model",
    )


def too_few_threads(cell: Numbers) -> Answer:
    """The CPU trains with cores left idle, and it is not data that it waits for."""
    if not cell.on_cpu:
        return Ruled.OUT
    used = cell.cpu_used
    if used is not None and used >= CORES_IDLE:
        return Ruled.OUT
    computing = cell.computing
    if computing is not None and computing < COMPUTING:
        return Ruled.OUT
    if used is None or computing is None or cell.cpu_cores is None:
        return Ruled.UNKNOWN
    if cell.foreign_cpu_cores and cell.foreign_cpu_cores / cell.cpu_cores > 1 - CORES_IDLE:
        return Ruled.OUT  # the cores are not idle, others have them
    return Finding(
        binds="too few threads",
        evidence=(
            f"{used * cell.cpu_cores:.1f} of {cell.cpu_cores} cores busy "
            f"though {computing:.0%} of a step computes"
        ),
        tier=Tier.WAITING,
        share=computing * (1 - used),
        techniques=(f"threads{cell.cpu_cores}", f"ddp{min(2, cell.cpu_cores)}")
        if cell.world_size == 1 and cell.cpu_cores > 1
        else (f"threads{max(1, cell.cpu_cores // cell.world_size)}",),
    )
