"""How the work is shared between devices."""

from benchmarks.hardware import Hardware
from benchmarks.setting import SCALED_PRECISIONS, Setting
from benchmarks.techniques.memory import ACCUMULATE4
from benchmarks.techniques.parallel_checks import CHECKS, all_reduces, reducer, strategy
from benchmarks.techniques.technique import Need, Technique

OTHER_SAMPLES = 0.25  # loss tolerance of a global batch that is not the baseline's

SINGLE = Technique(
    name="single",
    change={"parallel": "single"},
    why="one process, one device",
    api="-",
    checks={"strategy": strategy},
)


def _two_gpus(hardware: Hardware, setting: Setting) -> str | None:
    name, found = setting.parallel, hardware.devices.get("cuda", 0)
    if found < 2:
        return f"{name} needs 2 GPUs, found {found}"
    return None if setting.device == "cuda" else f"{name} needs 2 GPUs, {setting.device} is none"


DP = Technique(
    name="dp",
    change={"parallel": "dp"},
    why="every GPU from one process: no launcher, but its Python and GPU 0 become the bottleneck",
    api="torch.nn.DataParallel",
    needs=_two_gpus,
    checks={"strategy": strategy},
    loss_tolerance=OTHER_SAMPLES,  # sees more samples a step than the baseline, other ones
)


def ranks_fit(hardware: Hardware, setting: Setting) -> str | None:
    """Every rank needs a core or a device of its own."""
    name, ranks = setting.parallel, setting.world_size
    if setting.device == "cpu":
        cores = hardware.usable_cores
        return None if ranks <= cores else f"{name} needs {ranks} CPU cores, found {cores}"
    if setting.device == "mps":
        return f"{name} needs a torch.distributed backend for mps, there is none"
    found = hardware.devices.get(setting.device, 0)
    return None if ranks <= found else f"{name} needs {ranks} GPUs, found {found}"


def _without_scaler(hardware: Hardware, setting: Setting) -> str | None:
    if setting.precision in SCALED_PRECISIONS:
        return f"{setting.parallel} has no GradScaler over its stages: use amp_bf16"
    return ranks_fit(hardware, setting)


def of_ranks(
    strategy: str, ranks: int, *, why: str, api: str, needs: Need = ranks_fit
) -> Technique:
    """A strategy with one process a device, each with batches of its own: weak scaling."""
    return Technique(
        name=f"{strategy}{ranks}",
        change={"parallel": f"{strategy}{ranks}"},
        why=why,
        api=api,
        needs=needs,
        checks=CHECKS,
        loss_tolerance=OTHER_SAMPLES,
        first_step_s=60.0,
    )


def ddp(ranks: int) -> Technique:
    """One process a device, gradients averaged while backward still runs."""
    return of_ranks(
        "ddp",
        ranks,
        why="one process per device, gradients averaged while backward still runs",
        api="torch.nn.parallel.DistributedDataParallel, torchrun",
    )


def strong(ranks: int) -> Technique:
    """The baseline's batch shared out, so that a step means what it meant before."""
    return Technique(
        name=f"ddp{ranks}_strong",
        change={"parallel": f"ddp{ranks}", "batch": 1 / ranks},
        why="the same global batch on more devices: training is the same, only faster",
        api="DistributedDataParallel over batch / world_size samples a rank",
        needs=ranks_fit,
        checks=CHECKS,
        loss_tolerance=OTHER_SAMPLES,  # batch norm sees a rank's own samples only
        first_step_s=60.0,
    )


def fsdp(ranks: int) -> Technique:
    return of_ranks(
        "fsdp",
        ranks,
        why="ranks keep a share of weights, gradients and states: for what fits no device",
        api="torch.distributed.fsdp.fully_shard",
    )


def zero(ranks: int) -> Technique:
    return of_ranks(
        "zero",
        ranks,
        why="ranks keep a share of the optimizer's states, everything else as in DDP",
        api="torch.distributed.optim.ZeroRedundancyOptimizer",
    )


MP = Technique(
    name="mp",
    change={"parallel": "mp"},
    why="half of the layers on another GPU, in one process: room for a model, one GPU idles",
    api='layers.to("cuda:1")',
    needs=_two_gpus,
    checks=CHECKS,
)


def pp(ranks: int) -> Technique:
    """A pipeline: its stages work on different micro-batches at the same time.

    With two micro-batches a stage, GPipe's bubble is (ranks - 1) / (3 ranks - 1) of a step: a fifth
    for two.
    """
    return Technique(
        name=f"pp{ranks}",
        change={"parallel": f"pp{ranks}", "accumulate": 2 * ranks},
        why="layers shared out between ranks that work on different micro-batches at a time",
        api="torch.distributed.pipelining.ScheduleGPipe",
        needs=_without_scaler,
        checks=CHECKS,
        loss_tolerance=OTHER_SAMPLES,  # batch norm sees a micro-batch at a time
        first_step_s=60.0,
    )


DDP2 = ddp(2)
BUCKET100 = Technique(
    name="bucket100",
    change={"bucket_mb": 100},
    why="fewer, larger all-reduces: for fast links, at less overlap with backward",
    api="DistributedDataParallel(bucket_cap_mb=100)",
    on=(DDP2,),
    checks={"reducer": reducer, "all_reduces": all_reduces},
)
STATIC_GRAPH = Technique(
    name="static_graph",
    change={"static_graph": True},
    why="the same parameters get gradients every step: less to look for",
    api="DistributedDataParallel(static_graph=True)",
    on=(DDP2,),
    checks={"reducer": reducer},
)
BUCKET_VIEW = Technique(
    name="bucket_view",
    change={"bucket_view": True},
    why="gradients live in the buckets that are sent: one copy and its memory less",
    api="DistributedDataParallel(gradient_as_bucket_view=True)",
    on=(DDP2,),
    checks={"reducer": reducer},
)
NO_SYNC = Technique(
    name="no_sync",
    change={"no_sync": True},
    why="gradients of all micro-batches are averaged once, not once each",
    api="DistributedDataParallel.no_sync()",
    on=(DDP2, ACCUMULATE4),
    checks={"all_reduces": all_reduces},
)


def techniques(cores: int) -> list[Technique]:
    """Of two devices each: what every machine with two can compare."""
    return [
        DP,
        DDP2,
        strong(2),
        BUCKET100,
        STATIC_GRAPH,
        BUCKET_VIEW,
        NO_SYNC,
        fsdp(2),
        zero(2),
        MP,
        pp(2),
    ]
