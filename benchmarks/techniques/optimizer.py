"""How parameters are updated and gradients cleared."""

from collections.abc import Sequence

from benchmarks.setting import Setting
from benchmarks.techniques.technique import Evidence, Finding, Technique

FUSED_ON = ("cpu", "cuda", "mps", "xpu")
CLEARED = {"to_none": "none", "to_zero": "zero"}


def _implementation(setting: Setting, evidence: Evidence) -> Finding | None:
    """By the operators of a step; plain is what torch would choose."""
    ran, default = evidence["optimizer_ran"], evidence["optimizer_by_default"]
    if setting.optimizer == "default":
        return (ran == default, f"updated by {ran}, torch's default") if default else None
    return ran == setting.optimizer, f"updated by {ran}"


def _cleared(setting: Setting, evidence: Evidence) -> Finding:
    found = evidence["gradients_cleared"]
    return found == CLEARED[setting.zero_grad], f"zero_grad leaves gradients {found}"


FOR_LOOP = Technique(
    name="optimizer_for_loop",
    change={"optimizer": "for_loop"},
    why="a few kernels for each parameter: the least memory, and what a CPU does by default",
    api="torch.optim.AdamW(..., foreach=False, fused=False)",
    checks={"optimizer": _implementation},
)
FOREACH = Technique(
    name="optimizer_foreach",
    change={"optimizer": "foreach"},
    why="a few kernels for all parameters together: what a GPU does by default",
    api="torch.optim.AdamW(..., foreach=True)",
    checks={"optimizer": _implementation},
)
FUSED = Technique(
    name="optimizer_fused",
    change={"optimizer": "fused"},
    why="the whole update in one pass over each parameter: pays where there are many parameters",
    api="torch.optim.AdamW(..., fused=True)",
    checks={"optimizer": _implementation},
)
ZERO_GRAD_TO_ZERO = Technique(
    name="zero_grad_to_zero",
    change={"zero_grad": "to_zero"},
    why="gradients are overwritten instead of dropped: shows what the default, None, saves",
    api="optimizer.zero_grad(set_to_none=False)",
    checks={"zero_grad": _cleared},
)


def techniques(cores: int) -> Sequence[Technique]:
    return (FOR_LOOP, FOREACH, FUSED, ZERO_GRAD_TO_ZERO)
