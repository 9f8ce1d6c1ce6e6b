"""Which implementation updated the parameters is read off a step's operators."""

from dataclasses import replace
from functools import partial

import pytest
import torch

from benchmarks.setting import Setting
from benchmarks.techniques import checks
from benchmarks.training.optimizers import by_default, ran
from tests.benchmarks.small_training import SMALL, training
from tests.benchmarks.techniques.pictures import losses_of
from tests.benchmarks.techniques.seen import believed, seen_of

ADAMW = replace(SMALL, optimizer=torch.optim.AdamW)
MOMENTUM = replace(SMALL, optimizer=partial(torch.optim.SGD, momentum=0.9))
IMPLEMENTATIONS = ("for_loop", "foreach", "fused")


@pytest.mark.parametrize("workload", [SMALL, ADAMW, MOMENTUM], ids=["sgd", "adamw", "momentum"])
@pytest.mark.parametrize("name", IMPLEMENTATIONS)
def test_each_implementation_is_recognised_and_no_other_believed(
    name: str, workload: object
) -> None:
    with training(workload, optimizer=name) as trained:  # type: ignore[arg-type]
        trained.step()
        evidence = seen_of(trained)
    assert evidence["optimizer_ran"] == name
    for other in IMPLEMENTATIONS:
        assert believed("optimizer", Setting(optimizer=other), evidence) == (other == name)


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
def test_all_of_them_compute_the_same(name: str) -> None:
    with training(ADAMW) as plain:
        expected = losses_of(plain, 5)
    with training(ADAMW, optimizer=name) as trained:
        assert losses_of(trained, 5) == pytest.approx(expected, rel=1e-5)


def test_plain_is_what_torch_chooses() -> None:
    with training() as trained:
        evidence = seen_of(trained)
    assert evidence["optimizer_flags"] == {"foreach": None, "fused": None}
    assert evidence["optimizer_by_default"] == "for_loop"  # on a CPU
    assert believed("optimizer", Setting(), evidence)
    assert not believed("optimizer", Setting(), evidence, optimizer_ran="fused")


def test_of_an_optimizer_with_one_implementation_there_is_nothing_to_say() -> None:
    weight = torch.nn.Parameter(torch.zeros(2))
    assert by_default(torch.optim.LBFGS([weight])) is None
    evidence = {"optimizer_ran": "for_loop", "optimizer_by_default": None}
    assert checks()["optimizer"](Setting(), evidence) is None


def test_clearing_gradients_together_updates_nothing() -> None:
    assert ran(["aten::_foreach_zero_", "aten::add_"]) == "for_loop"
    assert ran(["aten::_foreach_add_", "aten::_fused_adamw_"]) == "fused"


@pytest.mark.parametrize(("knob", "left"), [("to_none", "none"), ("to_zero", "zero")])
def test_what_zero_grad_leaves_is_looked_at_before_forward(knob: str, left: str) -> None:
    with training(zero_grad=knob) as trained:
        trained.step()
        evidence = seen_of(trained)
    assert evidence["gradients_cleared"] == left
    for other in ("to_none", "to_zero"):
        assert believed("zero_grad", Setting(zero_grad=other), evidence) == (other == knob)
    assert not believed("zero_grad", Setting(zero_grad=knob), evidence, gradients_cleared="some")


def test_zeroed_gradients_train_as_dropped_ones() -> None:
    with training() as plain:
        expected = losses_of(plain, 5)
    with training(zero_grad="to_zero") as trained:
        assert losses_of(trained, 5) == expected
