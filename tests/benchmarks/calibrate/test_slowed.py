"""The extra work is the share of a step that its name says, whatever the machine does."""

from collections.abc import Iterator

import pytest
import torch
from torch import nn

from benchmarks.calibrate import slowed
from benchmarks.calibrate.slowed import ExtraWork
from workloads import WorkloadError, load

WORK_S = 0.001


class Clock:
    """Moves by what is done: steps and units of work."""

    now = 0.0

    def work(self) -> None:
        self.now += WORK_S


@pytest.fixture
def clock() -> Clock:
    return Clock()


def steps(clock: Clock, extra: ExtraWork, own_s: list[float]) -> Iterator[float]:
    """Seconds that each step took with what was added."""
    for seconds in own_s:
        began = clock.now
        clock.now += seconds
        extra()
        yield clock.now - began


@pytest.mark.parametrize("share", [0.03, 0.05, 0.10])
def test_a_step_takes_its_share_longer(clock: Clock, share: float) -> None:
    extra = ExtraWork(share, clock.work, lambda: clock.now)
    first, *rest = steps(clock, extra, [0.1] * 40)
    assert first == pytest.approx(0.1)  # how long a step takes is not known before the second
    mean = sum(rest) / len(rest)
    assert 0.1 * (1 + share) - 1e-9 <= mean <= 0.1 * (1 + share) + WORK_S


def test_no_share_adds_nothing(clock: Clock) -> None:
    extra = ExtraWork(0.0, clock.work, lambda: clock.now)
    assert list(steps(clock, extra, [0.1] * 5)) == pytest.approx([0.1] * 5)


def test_a_pause_before_a_block_is_no_step(clock: Clock) -> None:
    extra = ExtraWork(0.10, clock.work, lambda: clock.now)
    list(steps(clock, extra, [0.1] * 10))
    [paused] = steps(clock, extra, [5.0])
    assert paused - 5.0 == pytest.approx(0.01, abs=1.5 * WORK_S)


def test_the_share_follows_a_machine_that_drifts(clock: Clock) -> None:
    extra = ExtraWork(0.10, clock.work, lambda: clock.now)
    took = list(steps(clock, extra, [0.1] * 10 + [0.3] * 20))
    assert took[-1] == pytest.approx(0.33, abs=2 * WORK_S)


def test_every_workload_has_slowed_versions_that_train_as_it_does() -> None:
    plain, slow = load("resnet18"), load(f"{slowed.__file__}:resnet18_plus_10")
    assert (slow.unit, slow.model, slow.data, slow.loss) == (
        plain.unit,
        plain.model,
        plain.data,
        plain.loss,
    )
    scale = plain.scale("tiny")
    torch.manual_seed(0)
    models = [nn.Linear(4, 2), nn.Linear(4, 2)]
    models[1].load_state_dict(models[0].state_dict())
    inputs = torch.randn(8, 4)
    for model, workload in zip(models, (plain, slow), strict=True):
        optimizer = workload.build_optimizer(model.parameters(), scale)
        for _ in range(3):
            optimizer.zero_grad()
            model(inputs).square().sum().backward()
            optimizer.step()
    assert torch.equal(models[0].weight, models[1].weight)


@pytest.mark.parametrize("name", ["resnet18", "nothing_plus_5", "gpt2_plus_much"])
def test_other_names_are_no_workloads(name: str) -> None:
    with pytest.raises(WorkloadError, match=f"no '{name}'"):
        load(f"{slowed.__file__}:{name}")
