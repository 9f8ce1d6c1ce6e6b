"""Less memory for the same batch: what trades time for room."""

from benchmarks.setting import Setting
from benchmarks.techniques.technique import Evidence, Finding, Technique


def _recomputed(setting: Setting, evidence: Evidence) -> Finding | None:
    """How often a repeated layer ran forward in one watched step: again in backward, or not."""
    if setting.compile != "none":
        return None  # hooks do not see into compiled code
    calls = evidence.get("layer_calls")
    if calls is None:
        return (False, "no repeated layer was seen to run") if setting.checkpointing else None
    wanted = setting.accumulate * (2 if setting.checkpointing else 1)
    return calls == wanted, f"a layer ran forward {calls} times in a step, {wanted} wanted"


def _micro_batches(setting: Setting, evidence: Evidence) -> Finding | None:
    """How often the model was called in one watched step."""
    calls = evidence.get("micro_batches")
    if calls is None:
        return None if setting.accumulate == 1 else (False, "no step was watched")
    return calls == setting.accumulate, f"{calls} of {setting.accumulate} micro-batches a step"


CHECKPOINTING = Technique(
    name="checkpointing",
    change={"checkpointing": True},
    why="keeps no activations inside layers and computes them again: room for a larger batch",
    api="torch.utils.checkpoint.checkpoint(use_reentrant=False)",
    checks={"recomputed": _recomputed},
)
ACCUMULATE4 = Technique(
    name="accumulate4",
    change={"accumulate": 4},
    why="a quarter of the activations at once: a batch that does not fit, in four pieces",
    api="loss.backward() for each micro-batch, one optimizer.step()",
    checks={"micro_batches": _micro_batches},
    loss_tolerance=0.25,  # batch norm sees a quarter of the samples at a time
)


def techniques(cores: int) -> list[Technique]:
    return [CHECKPOINTING, ACCUMULATE4]
