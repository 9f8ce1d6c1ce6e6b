"""The workload's optimizer, in the implementation that the setting asks for."""

from collections.abc import Iterable

from torch import nn
from torch.optim import Optimizer

import workloads
from benchmarks.setting import Setting


def build_optimizer(
    workload: workloads.Workload,
    scale: workloads.Scale,
    parameters: Iterable[nn.Parameter],
    setting: Setting,
) -> Optimizer:
    return workload.build_optimizer(parameters, scale)
