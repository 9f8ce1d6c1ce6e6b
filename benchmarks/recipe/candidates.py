"""Which techniques the ladder may try: those that make the same training faster."""

from collections.abc import Sequence
from dataclasses import replace

from benchmarks.catalogue import by_family
from benchmarks.hardware import Glance
from benchmarks.recipe.script import STRATEGIES, unwritable
from benchmarks.setting import Setting
from benchmarks.techniques import Technique
from benchmarks.techniques.threads import MAX_ISA
from results.recipe import Left

# What is asked of a recipe is the same training, sooner.
PLAIN = Setting()
ANOTHER_TRAINING = {"learning_rate", "lr_warm_up_steps"}
FOR_MEMORY = {"accumulate", "checkpointing", "no_sync"}
REFERENCES = {"attention": "math", "optimizer": "for_loop", "zero_grad": "to_zero"}


def everything(device: str, glance: Glance) -> list[Technique]:
    """Of the matrix and all families, each name once."""
    first: dict[str, Technique] = {}
    for _, technique in by_family(device, glance):
        first.setdefault(technique.name, technique)
    return list(first.values())


def sort_out(
    techniques: Sequence[Technique], device: str, devices: int, batch: int | None
) -> tuple[list[Technique], list[Left]]:
    """Those for the ladder, at the same global batch, and the others with the reason.

    devices: of the kind trained on; batch: the plain one, None where it is not known yet.
    """
    wanted, left = [], []
    for given in techniques:
        technique = at_the_same_batch(given, devices)
        setting = technique.apply(technique.baseline(device))
        if setting == Setting(device=device):
            continue  # the plain value of an axis
        if technique.change != given.change and any(
            other.change == technique.change for other in techniques
        ):
            continue  # there by a name of its own
        if reason := why_not(setting, devices, batch):
            left.append(Left(name=technique.name, reason=reason))
        else:
            wanted.append(technique)
    return wanted, left


def why_not(setting: Setting, devices: int, batch: int | None) -> str | None:
    """Why a setting is none of the ladder's, or None."""
    parts = shares(setting, devices)
    turned = {knob for knob, value in setting.to_dict().items() if value != getattr(PLAIN, knob)}
    knob = unwritable(setting)
    unwritten = "the training loop that it prints has no line for"
    reasons = (
        (round(setting.batch * parts, 6) != 1, "it changes what is trained"),
        (turned & ANOTHER_TRAINING, "it changes what is trained"),
        (turned & {"epoch_steps"}, "it is about epochs of a few steps"),
        (setting.strategy not in STRATEGIES, f"{unwritten} parallel={setting.parallel}"),
        (turned & FOR_MEMORY, "it saves memory and costs time"),
        (setting.precision == "bf16", "weights in bf16 lose small updates, after more steps"),
        (
            any(getattr(setting, name) == value for name, value in REFERENCES.items())
            or MAX_ISA in dict(setting.variables),
            "it is there to be compared with",
        ),
        (batch and batch % parts, f"{parts} ranks cannot share a batch of {batch}"),
        (knob, f"{unwritten} {knob}"),
    )
    return next((f"not for the ladder: {reason}" for holds, reason in reasons if holds), None)


def shares(setting: Setting, devices: int) -> int:
    """Parts that each batch is cut into where all of them together are to be the plain batch."""
    return max(1, devices) if setting.parallel == "dp" else setting.world_size


def at_the_same_batch(technique: Technique, devices: int) -> Technique:
    """Strong scaling: ranks share the plain batch, so that each step learns as much as before.

    A technique that sets the batch itself, or shares nothing, stays as it is.
    """
    on = tuple(at_the_same_batch(ground, devices) for ground in technique.on)
    parts = shares(technique.apply(Setting()), devices)
    if parts == 1 or "batch" in technique.change:
        return replace(technique, on=on)
    return replace(technique, on=on, change={**technique.change, "batch": 1 / parts})
