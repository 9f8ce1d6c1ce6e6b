"""Checkpointing and accumulation: the same training with less at once, and proof that it was so."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from benchmarks.setting import Setting
from benchmarks.techniques.memory import ACCUMULATE4, CHECKPOINTING
from benchmarks.training import Training
from benchmarks.training.checkpointing import (
    Checkpointed,
    checkpoint_layers,
    repeated_layers,
    without_recomputing,
)
from benchmarks.training.watch import watched
from tests.benchmarks.small_training import CLASSES, FEATURES, SMALL, training
from workloads import CATALOG, Workload, WorkloadError

RECOMPUTED, MICRO_BATCHES = CHECKPOINTING.checks["recomputed"], ACCUMULATE4.checks["micro_batches"]


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.expand = nn.Linear(FEATURES, 9)
        self.project = nn.Linear(9, FEATURES)

    def forward(self, x: Tensor) -> Tensor:
        deeper: Tensor = x + self.project(torch.tanh(self.expand(x)))
        return deeper


class Stack(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Layer() for _ in range(3))
        self.head = nn.Sequential(nn.Linear(FEATURES, CLASSES))

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        logits: Tensor = self.head(x)
        return logits


STACK = Workload(
    name="stack",
    unit="samples",
    model=Stack,
    data=SMALL.data,
    optimizer=SMALL.optimizer,
    loss=SMALL.loss,
    scales=SMALL.scales,
)


def trained(steps: int = 3, **knobs: Any) -> tuple[list[float], list[Tensor]]:
    with training(STACK, **knobs) as running:
        for _ in range(steps):
            running.step()
        return running.losses(), [p.detach().clone() for p in running.module.parameters()]


def seen_in(running: Training) -> dict[str, Any]:
    with watched(running) as found:
        running.step()
    return found


def test_checkpointing_changes_no_bit_of_a_training() -> None:
    (losses, parameters), (ours, theirs) = trained(), trained(checkpointing=True)
    assert ours == losses
    assert all(map(torch.equal, parameters, theirs))


@pytest.mark.parametrize(
    ("knobs", "calls"),
    [
        ({}, 1),
        ({"checkpointing": True}, 2),
        ({"accumulate": 4}, 4),
        ({"checkpointing": True, "accumulate": 4}, 8),
    ],
)
def test_forward_calls_of_a_layer_are_counted_in_one_step(
    knobs: dict[str, Any], calls: int
) -> None:
    with training(STACK, **knobs) as running:
        evidence = seen_in(running)
    setting = Setting(**knobs)
    assert evidence["layer_calls"] == calls
    assert evidence["micro_batches"] == setting.accumulate
    for check in (RECOMPUTED, MICRO_BATCHES):
        finding = check(setting, evidence)
        assert finding is not None
        assert finding[0]


def test_a_plain_training_does_not_pass_for_another() -> None:
    with training(STACK) as running:
        evidence = seen_in(running)
    for check, setting in (
        (RECOMPUTED, Setting(checkpointing=True)),
        (MICRO_BATCHES, Setting(accumulate=4)),
    ):
        finding = check(setting, evidence)
        assert finding is not None
        assert not finding[0]


def test_what_was_not_seen_is_no_proof() -> None:
    nothing = {"layer_calls": None, "micro_batches": None}
    assert RECOMPUTED(Setting(checkpointing=True), nothing) == (
        False,
        "no repeated layer was seen to run",
    )
    assert MICRO_BATCHES(Setting(accumulate=4), nothing) == (False, "no step was watched")
    assert RECOMPUTED(Setting(), nothing) is None
    assert MICRO_BATCHES(Setting(), nothing) is None


def test_layers_are_the_blocks_that_models_stack() -> None:
    gpt2 = CATALOG["gpt2"].build_model(CATALOG["gpt2"].scale("tiny"))
    resnet = CATALOG["resnet18"].build_model(CATALOG["resnet18"].scale("tiny"))
    assert [type(layer).__name__ for *_, layer in repeated_layers(gpt2)] == ["DecoderLayer"] * 4
    assert [type(layer).__name__ for *_, layer in repeated_layers(resnet)] == ["BasicBlock"] * 8


def test_a_model_that_stacks_nothing_says_so() -> None:
    with pytest.raises(WorkloadError, match="needs repeated layers"):
        checkpoint_layers(nn.Linear(2, 2), Setting(checkpointing=True))


def test_flops_are_counted_without_what_is_recomputed() -> None:
    with training(STACK, checkpointing=True) as running:
        with without_recomputing(running.module):
            assert seen_in(running)["layer_calls"] == 1
        assert seen_in(running)["layer_calls"] == 2
        assert sum(isinstance(m, Checkpointed) for m in running.module.modules()) == 3
