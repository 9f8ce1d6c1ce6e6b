"""Both arms train to one loss from one seed a start; the record compares the seconds."""

import math
from dataclasses import dataclass, field
from typing import Any

import pytest

from benchmarks.engine.arm import ArmFault
from benchmarks.engine.experiment import BASELINE, CANDIDATE, Plan
from benchmarks.engine.time_to_target import (
    Target,
    TimeToTarget,
    complete,
    target_of,
    times_to_target,
)
from benchmarks.hardware import Glance
from benchmarks.matrix import Scope
from benchmarks.setting import Setting
from results.record import Record
from tests.benchmarks.made_up_arms import Machine, MadeUpArm, Watcher
from workloads import CATALOG

TARGET = Target(loss=2.0, window=64)


@dataclass
class Learners(Machine):
    """Arms that need so many steps to the target: by arm; None is never."""

    needs: dict[str, int | None] = field(default_factory=lambda: {BASELINE: 100, CANDIDATE: 50})
    loss: float | None = 2.5
    orders: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def launch(self, name: str, timeout_s: float) -> "Learner":
        super().launch(name, timeout_s)
        self.arms[-1] = learner = Learner(self, name, self.arms.pop().start)
        learner.state = "running"
        return learner

    def race(self, **plan: Any) -> TimeToTarget:
        experiment = TimeToTarget(
            Plan(**{"starts": 4, "limit_s": 1e4} | plan),
            self.settings,
            self.launch,
            Watcher(),
            self.clock,
            target=TARGET,
        )
        experiment.run()
        return experiment


class Learner(MadeUpArm):
    def look(self, order: dict[str, Any], timeout_s: float) -> dict[str, Any]:
        self._works("train_to")
        assert isinstance(self.machine, Learners)
        self.machine.orders.append((self.name, order))
        needed, units = self.machine.needs[self.name], self.machine.units_per_step[self.name]
        limit = order["limit_samples"]
        steps = needed if needed is not None else math.ceil((limit or 800) / units)
        self.machine.now_s += steps * self.step_s
        return {
            "run": {
                "reached": needed is not None,
                "seconds": steps * self.step_s,
                "steps": steps,
                "samples": steps * units,
                "first_loss": 6.0,
                "loss": 2.0 if needed is not None else self.machine.loss,
            }
        }


def record(**given: Any) -> Record:
    return Record(
        **{
            "cell": "test_time_to_target[gpt2]",
            "workload": "gpt2",
            "scale": "tiny",
            "unit": "tokens",
            "setting": {},
            "baseline": {},
            "technique": "batch_x2 + lr_linear",
            "outcome": "ok",
            "reason": None,
        }
        | given
    )


def test_half_the_steps_at_the_same_pace_is_twice_as_fast() -> None:
    found = complete(record(), Learners().race())
    assert found.speedup == pytest.approx(2.0)
    assert (found.verdict, found.starts, found.target_loss) == ("faster", 4, 2.0)
    assert (found.target_steps, found.baseline_target_steps) == (50, 100)
    assert (found.target_s, found.baseline_target_s) == pytest.approx((2.5, 5.0))
    assert len(found.target_runs) == 8
    assert Record.from_json(found.to_json()) == found


def test_arms_of_a_start_share_its_number_as_their_seed_and_swap_their_order() -> None:
    made = Learners()
    made.race(starts=2)
    assert [(name, order["seed"]) for name, order in made.orders] == [
        (BASELINE, 0),
        (CANDIDATE, 0),
        (CANDIDATE, 1),
        (BASELINE, 1),
    ]
    assert {order["target"] for _, order in made.orders} == {TARGET.loss}
    assert all(arm.state == "closed" for arm in made.arms)


def test_a_candidate_is_given_up_after_four_times_the_baselines_samples() -> None:
    made = Learners(needs={BASELINE: 100, CANDIDATE: None})
    found = complete(record(), made.race())
    assert [order["limit_samples"] for _, order in made.orders] == [None, 4 * 100 * 8]
    assert (found.outcome, found.verdict, found.speedup) == ("timed_out", "slower", None)
    assert found.speedup_high == pytest.approx(0.25)
    assert found.reason == "start 0 did not reach 2 in 400 steps, it ended at 2.5"
    assert found.target_runs[1]["reached"] is False


def test_a_candidate_that_diverges_never_gets_there() -> None:
    made = Learners(needs={BASELINE: 100, CANDIDATE: None}, loss=None)
    found = complete(record(), made.race())
    assert (found.verdict, found.speedup_high) == ("slower", 0.0)
    assert "ended at no number" in (found.reason or "")


def test_a_baseline_that_diverges_is_a_fault_of_the_baseline() -> None:
    with pytest.raises(ArmFault, match="baseline: its loss is no longer a number"):
        Learners(needs={BASELINE: None, CANDIDATE: 50}, loss=None).race()


def test_a_cell_that_is_invalid_gets_no_verdict() -> None:
    found = complete(record(outcome="invalid", reason="batch: 8"), Learners().race())
    assert (found.verdict, found.speedup) == (None, None)
    assert found.target_runs


def test_each_batch_with_the_rates_that_suit_it() -> None:
    glance = Glance(usable_cores=2, devices={"cpu": 1}, reasons={})
    cells = times_to_target(Scope(tuple(CATALOG), ("cpu",), glance))
    assert {cell.workload for cell in cells} == {"resnet18", "gpt2"}
    assert [cell.id for cell in cells if cell.workload == "gpt2"] == [
        "gpt2-cpu-batch_half-lr_fixed",
        "gpt2-cpu-batch_half-lr_linear",
        "gpt2-cpu-batch_x2-lr_fixed",
        "gpt2-cpu-batch_x2-lr_linear",
        "gpt2-cpu-batch_x2-lr_warm_up",
        "gpt2-cpu-batch_x4-lr_fixed",
        "gpt2-cpu-batch_x4-lr_linear",
        "gpt2-cpu-batch_x4-lr_warm_up",
    ]
    assert all(cell.baseline == Setting() and not cell.quick for cell in cells)


def test_a_target_belongs_to_a_workload_and_a_scale() -> None:
    found = target_of("gpt2", "tiny")
    assert found is not None
    assert found.window == 64
    assert target_of("bert_base", "tiny") is None
    assert target_of("own.py:mine", "tiny") is None
