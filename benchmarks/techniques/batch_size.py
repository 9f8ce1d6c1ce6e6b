"""How many samples a step trains on, and the learning rate that goes with them."""

from benchmarks.setting import Setting
from benchmarks.techniques.technique import Evidence, Finding, Technique

OTHER_SAMPLES = 0.25  # another batch sees other samples: losses as far apart as those of ranks
OTHER_RATE = 0.5  # and at another learning rate they part from the first step on
WARM_UP_STEPS = 10


def _batch(setting: Setting, evidence: Evidence) -> Finding | None:
    """Samples that went into the model in one watched step, against the scale's own batch."""
    seen = evidence.get("step_samples")
    if seen is None:
        return None if setting.batch == 1.0 else (False, "no step was watched")
    wanted = max(1, round(evidence["scale_batch"] * setting.batch))
    return seen == wanted, f"{seen} samples a step and device, {wanted} wanted"


def _learning_rate(setting: Setting, evidence: Evidence) -> Finding | None:
    """What the optimizer would take its next step with, over the scale's own rate."""
    seen = evidence.get("learning_rate")
    if seen is None:
        return None
    wanted = rate_at(setting, evidence["steps"])
    return abs(seen / wanted - 1) < 1e-6, f"{seen:g} times the usual rate, {wanted:g} wanted"


def rate_at(setting: Setting, steps: int) -> float:
    """The rate after `steps` steps, times the scale's.

    Warm-up is gradual, as in Goyal et al. 2017: from the scale's own rate up to the larger one.
    """
    target, over = setting.learning_rate, setting.lr_warm_up_steps
    if target <= 1 or steps >= over:
        return target
    return 1 + (target - 1) * steps / over


def batch(name: str, factor: float) -> Technique:
    return Technique(
        name=name,
        change={"batch": factor},
        why="fills the device better with more samples a step, until memory or the loss objects",
        api="DataLoader(batch_size=...)",
        checks={"batch": _batch, "learning_rate": _learning_rate},
        loss_tolerance=OTHER_SAMPLES,
    )


BATCHES = {0.5: batch("batch_half", 0.5), 2.0: batch("batch_x2", 2.0), 4.0: batch("batch_x4", 4.0)}


def rates(factor: float) -> list[Technique]:
    """What to do with the learning rate when the batch is multiplied by `factor`.

    A rate that is scaled down needs no warm-up.
    """
    fixed = _rate("lr_fixed", 1.0, 0, "the usual rate, whatever the batch", "torch.optim")
    linear = _rate(
        "lr_linear", factor, 0, "as many times the rate as samples a step", "torch.optim"
    )
    warm = _rate(
        "lr_warm_up",
        factor,
        WARM_UP_STEPS,
        "scaled, but reached gradually: early steps at a high rate diverge",
        "torch.optim.lr_scheduler.LinearLR",
    )
    return [fixed, linear, warm] if factor > 1 else [fixed, linear]


def _rate(name: str, factor: float, warm_up_steps: int, why: str, api: str) -> Technique:
    return Technique(
        name=name,
        change={"learning_rate": factor, "lr_warm_up_steps": warm_up_steps},
        why=why,
        api=api,
        checks={"learning_rate": _learning_rate},
        loss_tolerance=OTHER_RATE,
    )


def techniques(cores: int) -> list[Technique]:
    return list(BATCHES.values())
