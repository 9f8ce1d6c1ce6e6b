"""Exposed communication: what of a step would be gone if ranks and replicas need not talk.

Pure. What is hidden behind computing costs nothing and is not counted.
"""

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

SCATTERED = ("scatter", "replicate", "gather")  # what DataParallel does besides computing
COMPUTED = ("data", "copy", "forward", "backward", "optimizer")
NOT_APART = "its ranks cannot be trained without talking: forward and backward hold it"


def account(ranks: Sequence[Mapping[str, float]], parallel: str) -> dict[str, Any]:
    """Seconds a step by part, the mean over ranks; the parts sum to "step_s".

    A rank tells "data_s", "copy_s", "forward_s", "backward_s", "optimizer_s", "step_s" and what
    else it measured, all in seconds a step. Under DistributedDataParallel also the same without
    exchanging gradients ("alone_forward_s", ...): what that saves is exposed all-reduce (and
    waiting for slower ranks), and tells how even the ranks' own work is. Under DataParallel
    "scatter_s", "replicate_s" and "gather_s", which are parts of its forward.

    `parallel` is the setting's: with a strategy that can do neither, communication is None, with
    its reason.
    """
    found: dict[str, Any] = {name: fmean(rank[name] for rank in ranks) for name in ranks[0]}
    found = {name: value for name, value in found.items() if not name.startswith("alone_")}
    found["other_s"] = max(0.0, found["step_s"] - sum(found[f"{name}_s"] for name in COMPUTED))
    if "alone_step_s" in ranks[0]:
        return found | _all_reduced(ranks)
    if "scatter_s" in ranks[0]:
        moved = min(found["forward_s"], sum(found[f"{name}_s"] for name in SCATTERED))
        return found | {"communication_s": moved, "forward_s": found["forward_s"] - moved}
    if len(ranks) > 1 or parallel == "mp":
        return found | {"communication_s": None, "communication_reason": NOT_APART}
    return found | {"communication_s": 0.0}


def _all_reduced(ranks: Sequence[Mapping[str, float]]) -> dict[str, Any]:
    exposed = [_exposed(rank) for rank in ranks]
    own_step_s = [sum(rank[f"alone_{name}_s"] for name in COMPUTED) for rank in ranks]
    slowest = max(range(len(ranks)), key=own_step_s.__getitem__)
    return {
        "communication_s": fmean(forward + backward for forward, backward in exposed),
        "forward_s": fmean(r["forward_s"] - e[0] for r, e in zip(ranks, exposed, strict=True)),
        "backward_s": fmean(r["backward_s"] - e[1] for r, e in zip(ranks, exposed, strict=True)),
        "slowest_rank": slowest,
        "imbalance": own_step_s[slowest] / fmean(own_step_s),
    }


def _exposed(rank: Mapping[str, float]) -> tuple[float, float]:
    """Of forward (buffers are made equal there) and of backward; the two differences' sum."""
    forward, backward = (
        rank[f"{name}_s"] - rank[f"alone_{name}_s"] for name in ("forward", "backward")
    )
    whole = max(0.0, forward + backward)
    of_forward = min(whole, max(0.0, forward))
    return of_forward, whole - of_forward
