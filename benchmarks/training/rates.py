"""The learning rate: scaled, and warmed up as in Goyal et al. 2017."""

from torch.optim import Optimizer
from torch.optim.lr_scheduler import LinearLR

import workloads
from benchmarks.setting import Setting


def scale_rate(optimizer: Optimizer, setting: Setting) -> LinearLR | None:
    """The optimizer at its factor of the usual rate; the scheduler where it gets there gradually.

    Warm-up starts at the usual rate and ends, steps later, at the larger one.
    """
    for group in optimizer.param_groups:
        group["lr"] *= setting.learning_rate
    if not setting.lr_warm_up_steps or setting.learning_rate <= 1:
        return None
    return LinearLR(optimizer, 1 / setting.learning_rate, total_iters=setting.lr_warm_up_steps)


def relative_rate(optimizer: Optimizer, scale: workloads.Scale) -> float:
    """What the next step is taken with, over the scale's rate; NaN where groups differ."""
    rates = {float(group["lr"]) for group in optimizer.param_groups}
    return rates.pop() / scale.learning_rate if len(rates) == 1 else float("nan")
