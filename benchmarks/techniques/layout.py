"""How images lie in memory."""

from collections.abc import Sequence

from benchmarks.setting import Setting
from benchmarks.techniques.technique import IMAGES, Evidence, Finding, Technique


def _layout(setting: Setting, evidence: Evidence) -> Finding | None:
    """By strides. Layers in between may need another layout: of activations one must be right."""
    weights, inputs = evidence["weight_layouts"], evidence["input_layouts"]
    activations = evidence["activation_layouts"]
    said = (
        f"weights {_listed(weights)}, inputs {_listed(inputs)}, activations {_listed(activations)}"
    )
    if setting.memory_format == "channels_last":
        wanted = ["channels_last"]
        return weights == wanted and inputs == wanted and wanted[0] in activations, said
    if not weights and not inputs:
        return None
    return "channels_last" not in [*weights, *inputs], said


def _listed(layouts: Sequence[str]) -> str:
    return " and ".join(layouts) or "unknown"


CHANNELS_LAST = Technique(
    name="channels_last",
    change={"memory_format": "channels_last"},
    why="convolutions read whole pixels: the layout that tensor cores and oneDNN compute in",
    api="model.to(memory_format=torch.channels_last), images likewise",
    only_for=IMAGES,
    checks={"layout": _layout},
)


def techniques(cores: int) -> Sequence[Technique]:
    return (CHANNELS_LAST,)
