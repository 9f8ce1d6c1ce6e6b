"""How the work is shared between devices."""

from benchmarks.hardware import Hardware
from benchmarks.setting import SCALED_PRECISIONS, Setting
from benchmarks.techniques.memory import ACCUMULATE4
from benchmarks.techniques.technique import Evidence, Finding, Need, Technique

WRAPPERS = {
    "single": "none",
    "dp": "DataParallel",
    "ddp": "DistributedDataParallel",
    "zero": "DistributedDataParallel",
    "fsdp": "fully_shard",
    "mp": "OnDevices",
    "pp": "Pipeline",
}
BACKENDS = {"cpu": "gloo", "cuda": "nccl", "xpu": "xccl"}
DEFAULT_BUCKET_MB = 25
MICRO_BATCHES = 4  # of a pipeline of two stages: a fifth of its time is the bubble
OTHER_SAMPLES = 0.25  # loss tolerance of a global batch that is not the baseline's


def _strategy(setting: Setting, evidence: Evidence) -> Finding:
    replicas = evidence["visible_devices"] if setting.parallel == "dp" else setting.data_parallel
    seen = (evidence["strategy"], evidence["replicas"])
    said = f"strategy {evidence['strategy']} with {evidence['replicas']} replicas"
    return seen == (WRAPPERS[setting.strategy], replicas), said


def _stages(setting: Setting, evidence: Evidence) -> Finding:
    """In how many parts the model is cut, and whether each pipeline rank holds its own only."""
    wanted = {"mp": 2, "pp": setting.world_size}.get(setting.strategy, 1)
    stages, kept = evidence["stages"], evidence["parameters_by_rank"]
    cut = setting.strategy != "pp" or (
        all(0 < own < evidence["parameters"] for own in kept)
        and sum(kept) >= evidence["parameters"]
    )
    return stages == wanted and cut, f"{stages} stages, parameters by rank {kept}"


def _backend(setting: Setting, evidence: Evidence) -> Finding | None:
    if setting.world_size == 1:
        return None
    backend = evidence["backend"]
    return backend == BACKENDS.get(setting.device), f"ranks exchange through {backend}"


def _equal_parameters(setting: Setting, evidence: Evidence) -> Finding | None:
    if setting.world_size == 1:
        return None
    spread = evidence["parameter_spread"]
    if spread is None:  # no parameter is held twice: right where the model is cut
        return None if setting.strategy in ("fsdp", "pp") else (False, "ranks were not compared")
    return spread == 0.0, f"largest difference of parameter sums between ranks {spread:g}"


def _shards(setting: Setting, evidence: Evidence) -> Finding | None:
    """What ranks keep of parameters between steps: a share each, or everything."""
    if setting.world_size == 1 or setting.strategy == "pp":
        return None
    whole, kept = evidence["parameters"], evidence["parameters_by_rank"]
    said = f"of {whole:,} parameters ranks keep {', '.join(f'{own:,}' for own in kept)}"
    if setting.strategy == "fsdp":
        return sum(kept) == whole and max(kept) < whole, said
    return all(own == whole for own in kept), said


def _updates(setting: Setting, evidence: Evidence) -> Finding | None:
    """Which parameters each rank's optimizer updates, and keeps states of."""
    if setting.world_size == 1 or setting.strategy == "pp":
        return None
    whole, own = evidence["parameters"], evidence["updated_by_rank"]
    said = f"of {whole:,} parameters ranks update {', '.join(f'{count:,}' for count in own)}"
    zero = setting.strategy == "zero"
    if evidence["sharded_optimizer"] != zero:
        return False, f"sharded optimizer: {evidence['sharded_optimizer']}"
    if setting.strategy in ("fsdp", "zero"):
        return sum(own) == whole and max(own) < whole, said
    return all(count == whole for count in own), said


def _reducer(setting: Setting, evidence: Evidence) -> Finding | None:
    """How DistributedDataParallel is set up, by its own log."""
    seen = tuple(evidence[name] for name in ("bucket_cap_bytes", "static_graph", "bucket_view"))
    if setting.strategy not in ("ddp", "zero"):
        absent = seen == (None, None, None)
        return None if absent else (False, "gradients are averaged in buckets, as in DDP")
    cap = (setting.bucket_mb or DEFAULT_BUCKET_MB) << 20
    said = f"buckets of {seen[0]} bytes, static graph {seen[1]}, gradients as views {seen[2]}"
    return seen == (cap, setting.static_graph, setting.bucket_view), said


def _all_reduces(setting: Setting, evidence: Evidence) -> Finding | None:
    """Counted in one watched step: every bucket once, or once a micro-batch."""
    seen = evidence.get("collectives")
    if setting.strategy not in ("ddp", "zero") or setting.compile != "none":
        return None
    if seen is None:
        return False, "no step was watched"
    rounds = 1 if setting.no_sync else setting.accumulate
    counted, wanted = seen.get("allreduce_", 0), rounds * (evidence["buckets"] or 0)
    said = f"{counted} all-reduces a step, {wanted} wanted of {evidence['buckets']} buckets"
    return counted == wanted > 0, said


def _gathers(setting: Setting, evidence: Evidence) -> Finding | None:
    """FSDP2 gathers parameters and scatters gradients in every step; nothing else does."""
    seen = evidence.get("collectives")
    if setting.world_size == 1 or setting.compile != "none":
        return None
    if seen is None:
        return (False, "no step was watched") if setting.strategy == "fsdp" else None
    gathers, scatters = seen.get("_allgather_base_", 0), seen.get("_reduce_scatter_base_", 0)
    said = f"{gathers} all-gathers and {scatters} reduce-scatters a step"
    return (min(gathers, scatters) > 0) == (setting.strategy == "fsdp"), said


CHECKS = {
    "strategy": _strategy,
    "stages": _stages,
    "backend": _backend,
    "equal_parameters": _equal_parameters,
    "shards": _shards,
    "updates": _updates,
    "reducer": _reducer,
    "all_reduces": _all_reduces,
    "gathers": _gathers,
}

SINGLE = Technique(
    name="single",
    change={"parallel": "single"},
    why="one process, one device",
    api="-",
    checks={"strategy": _strategy},
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
    checks={"strategy": _strategy},
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
    """A pipeline: its stages work on different micro-batches at the same time."""
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
    checks={"reducer": _reducer, "all_reduces": _all_reduces},
)
STATIC_GRAPH = Technique(
    name="static_graph",
    change={"static_graph": True},
    why="the same parameters get gradients every step: less to look for",
    api="DistributedDataParallel(static_graph=True)",
    on=(DDP2,),
    checks={"reducer": _reducer},
)
BUCKET_VIEW = Technique(
    name="bucket_view",
    change={"bucket_view": True},
    why="gradients live in the buckets that are sent: one copy and its memory less",
    api="DistributedDataParallel(gradient_as_bucket_view=True)",
    on=(DDP2,),
    checks={"reducer": _reducer},
)
NO_SYNC = Technique(
    name="no_sync",
    change={"no_sync": True},
    why="gradients of all micro-batches are averaged once, not once each",
    api="DistributedDataParallel.no_sync()",
    on=(DDP2, ACCUMULATE4),
    checks={"all_reduces": _all_reduces},
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
