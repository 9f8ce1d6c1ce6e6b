"""How a training is really shared between ranks and devices, read back from torch."""

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, distributed, nn
from torch.distributed.fsdp import FSDPModule
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.distributed.tensor import DTensor
from torch.nn.parallel import DistributedDataParallel
from torch.optim import Optimizer

from benchmarks.training.pipeline import Pipeline
from benchmarks.training.stages import OnDevices, Stage
from benchmarks.training.training import Training


def read_back(training: Training) -> dict[str, Any]:
    """A collective call. Counts are numbers, not bytes, unless the name says so.

    strategy: what shares the work; replicas: ranks and devices that take batches of their own.
    stages: parts that the model is cut in. parameters: of the whole model; parameters_by_rank: that
    a rank keeps between steps. updated_by_rank: parameters that its optimizer updates.
    """
    model, world = training.model, training.place.world
    optimizer = training.optimizer
    return {
        "strategy": strategy(model),
        "sharded_optimizer": isinstance(optimizer, ZeroRedundancyOptimizer),
        "replicas": 1 if isinstance(model, Pipeline) else world * training.replicas,
        "stages": stages(model),
        "backend": backend(training.device) if world > 1 else None,
        "parameters": training.module.whole
        if isinstance(training.module, Stage)
        else numel(training.module.parameters()),
        "parameters_by_rank": gathered(training, kept(training.module)),
        "updated_by_rank": gathered(training, numel(map(local, updated(optimizer)))),
        "state_bytes_by_rank": gathered(training, state_bytes(optimizer)),
        "parameter_spread": parameter_spread(training),
        **reducer(model),
    }


def strategy(model: nn.Module) -> str:
    """The name of what shares the work; "none" for a bare model."""
    if isinstance(model, FSDPModule):
        return "fully_shard"
    strategies = (nn.DataParallel, DistributedDataParallel, Pipeline, OnDevices)
    return type(model).__name__ if isinstance(model, strategies) else "none"


def stages(model: nn.Module) -> int:
    if isinstance(model, Pipeline):
        return int(model.stages)
    return len(set(model.devices)) if isinstance(model, OnDevices) else 1


def backend(device: torch.device) -> str:
    """That exchanges tensors of the device."""
    group: Any = distributed.group.WORLD
    return str(group._get_backend(device).name())


def reducer(model: nn.Module) -> dict[str, Any]:
    """Of DistributedDataParallel: how it averages gradients. All None without it."""
    if not isinstance(model, DistributedDataParallel):
        names = ("bucket_cap_bytes", "buckets", "static_graph", "bucket_view")
        return dict.fromkeys(names)
    told: dict[str, Any] = model._get_ddp_logging_data()  # type: ignore[no-untyped-call]
    sizes = told.get("rebuilt_bucket_sizes") or told["bucket_sizes"]
    return {
        "bucket_cap_bytes": told["bucket_cap_bytes"],
        "buckets": len(sizes.split(",")),
        "static_graph": bool(told.get("static_graph")),  # told only where it is on
        "bucket_view": bool(told["gradient_as_bucket_view"]),
    }


def updated(optimizer: Optimizer) -> list[Tensor]:
    """The parameters that this rank's optimizer updates."""
    own = optimizer.optim if isinstance(optimizer, ZeroRedundancyOptimizer) else optimizer
    return [parameter for group in own.param_groups for parameter in group["params"]]


def state_bytes(optimizer: Optimizer) -> int:
    own = optimizer.optim if isinstance(optimizer, ZeroRedundancyOptimizer) else optimizer
    kept = (value for state in own.state.values() for value in state.values())
    return sum(local(value).nbytes for value in kept if isinstance(value, Tensor))


def kept(module: nn.Module) -> int:
    return numel(map(local, module.parameters()))


def local(tensor: Tensor) -> Tensor:
    """A rank's own shard of it; all of it where it is not sharded."""
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor


def numel(tensors: Iterable[Tensor]) -> int:
    return sum(tensor.numel() for tensor in tensors)


def gathered(training: Training, mine: int) -> list[int]:
    """What every rank says, in their order."""
    if training.place.world == 1:
        return [mine]
    ranks: list[Any] = [None] * training.place.world
    distributed.all_gather_object(ranks, mine)
    return ranks


def parameter_spread(training: Training) -> float | None:
    """Largest difference of a parameter's sum between the ranks that hold it; None: none is twice.

    0 for a single rank. A collective call.
    """
    if training.place.world == 1:
        return 0.0
    if isinstance(training.model, FSDPModule):
        return None
    if isinstance(training.module, Stage):
        apart = [_apart([parameter], group) for parameter, group in training.module.shared]
        spreads: list[Any] = [None] * training.place.world
        distributed.all_gather_object(spreads, max(apart, default=None))
        return max((spread for spread in spreads if spread is not None), default=None)
    return _apart(list(training.module.parameters()), None)


def _apart(parameters: Sequence[Tensor], group: Any) -> float:
    sums = torch.stack([parameter.detach().double().sum().cpu() for parameter in parameters])
    lowest, highest = sums.clone(), sums
    distributed.all_reduce(lowest, distributed.ReduceOp.MIN, group=group)
    distributed.all_reduce(highest, distributed.ReduceOp.MAX, group=group)
    return float((highest - lowest).max())
