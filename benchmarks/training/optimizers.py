"""The workload's optimizer, in the implementation that the setting asks for."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from torch import nn
from torch.optim.optimizer import Optimizer, _default_to_fused_or_foreach

import workloads
from benchmarks.setting import Setting

IMPLEMENTATIONS: Mapping[str, Mapping[str, bool]] = {
    "default": {},
    "for_loop": {"foreach": False, "fused": False},
    "foreach": {"foreach": True},
    "fused": {"fused": True},
}
FUSED = re.compile(r"aten::_fused_(sgd|adam|adamw|adagrad)_")
FOREACH = re.compile(r"aten::_foreach_(?!zero_|copy_)")  # zero_grad and FSDP have those


def build_optimizer(
    workload: workloads.Workload,
    scale: workloads.Scale,
    parameters: Iterable[nn.Parameter],
    setting: Setting,
) -> Optimizer:
    return workload.build_optimizer(parameters, scale, **IMPLEMENTATIONS[setting.optimizer])


def ran(operators: Iterable[str]) -> str:
    """Which implementation the operators of a step belong to."""
    seen = list(operators)
    if any(map(FUSED.match, seen)):
        return "fused"
    return "foreach" if any(map(FOREACH.match, seen)) else "for_loop"


def by_default(optimizer: Optimizer) -> str | None:
    """Which implementation torch chooses; None where the optimizer has only one."""
    first = optimizer.param_groups[0]
    if "foreach" not in first or "fused" not in first:
        return None
    if first["fused"]:
        return "fused"
    foreach = first["foreach"]
    if foreach is None and first["fused"] is None:
        _, foreach = _default_to_fused_or_foreach(first["params"], differentiable=False)
    return "foreach" if foreach else "for_loop"


def read_back(optimizer: Optimizer) -> dict[str, Any]:
    """optimizer_flags: as the parameter groups hold them; None: torch chooses."""
    own: Optimizer = getattr(optimizer, "optim", optimizer)  # a sharded one holds it
    first = own.param_groups[0]
    return {
        "optimizer_flags": {name: first.get(name) for name in ("foreach", "fused")},
        "optimizer_by_default": by_default(own),
    }
