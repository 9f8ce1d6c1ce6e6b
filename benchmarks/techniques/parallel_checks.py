"""What proves how the work is shared: each check for any strategy, against what ranks read back."""

from benchmarks.setting import Setting
from benchmarks.techniques.technique import Evidence, Finding

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


def strategy(setting: Setting, evidence: Evidence) -> Finding:
    replicas = evidence["visible_devices"] if setting.parallel == "dp" else setting.data_parallel
    seen = (evidence["strategy"], evidence["replicas"])
    said = f"strategy {evidence['strategy']} with {evidence['replicas']} replicas"
    return seen == (WRAPPERS[setting.strategy], replicas), said


def stages(setting: Setting, evidence: Evidence) -> Finding:
    """In how many parts the model is cut, and whether each pipeline rank holds its own only."""
    wanted = {"mp": 2, "pp": setting.world_size}.get(setting.strategy, 1)
    stages, kept = evidence["stages"], evidence["parameters_by_rank"]
    cut = setting.strategy != "pp" or (
        all(0 < own < evidence["parameters"] for own in kept)
        and sum(kept) >= evidence["parameters"]
    )
    return stages == wanted and cut, f"{stages} stages, parameters by rank {kept}"


def backend(setting: Setting, evidence: Evidence) -> Finding | None:
    if setting.world_size == 1:
        return None
    seen = evidence["backend"]
    return seen == BACKENDS.get(setting.device), f"ranks exchange through {seen}"


def equal_parameters(setting: Setting, evidence: Evidence) -> Finding | None:
    if setting.world_size == 1:
        return None
    spread = evidence["parameter_spread"]
    if spread is None:  # no parameter is held twice: right where the model is cut
        return None if setting.strategy in ("fsdp", "pp") else (False, "ranks were not compared")
    return spread == 0.0, f"largest difference of parameter sums between ranks {spread:g}"


def shards(setting: Setting, evidence: Evidence) -> Finding | None:
    """What ranks keep of parameters between steps: a share each, or everything."""
    if setting.world_size == 1 or setting.strategy == "pp":
        return None
    whole, kept = evidence["parameters"], evidence["parameters_by_rank"]
    said = f"of {whole:,} parameters ranks keep {', '.join(f'{own:,}' for own in kept)}"
    if setting.strategy == "fsdp":
        return sum(kept) == whole and max(kept) < whole, said
    return all(own == whole for own in kept), said


def updates(setting: Setting, evidence: Evidence) -> Finding | None:
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


def reducer(setting: Setting, evidence: Evidence) -> Finding | None:
    """How DistributedDataParallel is set up, by its own log."""
    seen = tuple(evidence[name] for name in ("bucket_cap_bytes", "static_graph", "bucket_view"))
    if setting.strategy not in ("ddp", "zero"):
        absent = seen == (None, None, None)
        return None if absent else (False, "gradients are averaged in buckets, as in DDP")
    cap = (setting.bucket_mb or DEFAULT_BUCKET_MB) << 20
    said = f"buckets of {seen[0]} bytes, static graph {seen[1]}, gradients as views {seen[2]}"
    return seen == (cap, setting.static_graph, setting.bucket_view), said


def all_reduces(setting: Setting, evidence: Evidence) -> Finding | None:
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


def gathers(setting: Setting, evidence: Evidence) -> Finding | None:
    """FSDP2 gathers parameters and scatters gradients in every step; nothing else does."""
    seen = evidence.get("collectives")
    if setting.world_size == 1 or setting.compile != "none":
        return None
    if seen is None:
        return (False, "no step was watched") if setting.strategy == "fsdp" else None
    gathered, scattered = seen.get("_allgather_base_", 0), seen.get("_reduce_scatter_base_", 0)
    said = f"{gathered} all-gathers and {scattered} reduce-scatters a step"
    return (min(gathered, scattered) > 0) == (setting.strategy == "fsdp"), said


CHECKS = {
    "strategy": strategy,
    "stages": stages,
    "backend": backend,
    "equal_parameters": equal_parameters,
    "shards": shards,
    "updates": updates,
    "reducer": reducer,
    "all_reduces": all_reduces,
    "gathers": gathers,
}
