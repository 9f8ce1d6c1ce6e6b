"""What one step really does, seen with hooks: in a step of its own, never in a timed one."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from benchmarks.telemetry import cpu
from benchmarks.training.checkpointing import Checkpointed, repeated_layers
from benchmarks.training.collectives import Collectives
from benchmarks.training.pipeline import Pipeline
from benchmarks.training.training import Training


@contextmanager
def watched(training: Training) -> Iterator[dict[str, Any]]:
    """Fills the dict when the step inside is done.

    step_samples: that went into the model, per replica. micro_batches: calls of the model.
    layer_calls: of the first repeated layer, recomputation included. collectives: calls of each
    kind, by rank 0. None: nothing was seen.
    """
    found: dict[str, Any] = {
        "usable_cores": cpu.usable_cores(cpu.affinity_cores(), cpu.cgroup_quota_cores()),
        "scale_batch": training.scale.batch,
        "step_samples": None,
        "micro_batches": None,
        "layer_calls": None,
        "collectives": None,
    }
    samples: list[int] = []
    layer_calls: list[None] = []
    layer = next((each for _, _, each in repeated_layers(training.module)), None)
    if isinstance(layer, Checkpointed):
        layer = layer.layer
    # a pipeline's schedule calls the stage
    called = training.module if isinstance(training.model, Pipeline) else training.model
    counter = Collectives()
    with ExitStack() as hooks:
        if training.place.world > 1 and training.setting.compile == "none":
            found["collectives"] = hooks.enter_context(counter).counts
        hooks.callback(
            called.register_forward_pre_hook(
                lambda _, inputs: samples.append(len(inputs[0]))
            ).remove
        )
        if layer is not None:  # called before it runs: recomputing ends as soon as it can
            hooks.callback(
                layer.register_forward_pre_hook(lambda _, __: layer_calls.append(None)).remove
            )
        yield found
    if samples:
        found["micro_batches"] = len(samples)
        found["step_samples"] = sum(samples) // training.replicas
    if layer_calls:
        found["layer_calls"] = len(layer_calls) // training.replicas
