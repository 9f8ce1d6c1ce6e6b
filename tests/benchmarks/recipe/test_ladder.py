"""The ladder on made-up machines, where what each technique really does is known."""

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from benchmarks.recipe.ladder import (
    CONFIRM,
    LEAVE_OUT,
    SCREEN,
    Climb,
    Trial,
    add,
    climb,
    move_for,
    named,
    setting_of,
    still_pays,
)
from benchmarks.setting import Setting
from benchmarks.techniques import Technique
from results.record import Record
from tests.results.examples import compared, record

SPREAD = (0.99, 1.0, 1.01, 1.0, 0.995, 1.005)
TRUTH = Callable[[Setting], float]  # steps a second, the plain setting's being 1


def technique(name: str, *on: Technique, **change: object) -> Technique:
    return Technique(name=name, change=change, why="-", api="-", on=on)


WORKERS2, WORKERS4 = technique("workers2", num_workers=2), technique("workers4", num_workers=4)
PREFETCH = technique("prefetch4", WORKERS2, prefetch_factor=4)
LAST = technique("channels_last", memory_format="channels_last")
BF16 = technique("amp_bf16", precision="amp_bf16")
FUSED = technique("fused", optimizer="fused")


@dataclass
class Machine:
    """Measures by `truth`; notes what it was asked for. `lucky`: factors of single trials."""

    truth: TRUTH
    lucky: dict[tuple[str, str], float] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)
    cost: float = 0.0  # of a trial, share of the budget

    def measure(self, trial: Trial) -> Record:
        below = f" on {named(trial.base)}" if trial.base else ""
        self.log.append(f"{trial.stage} {trial.name}{below}")
        candidate = setting_of((*trial.base, *trial.move), "cpu")
        ratio = self.truth(candidate) / self.truth(setting_of(trial.base, "cpu"))
        ratio *= self.lucky.get((trial.stage, trial.name), 1.0)
        spread = SPREAD[:2] if trial.stage == SCREEN else SPREAD
        return compared(trial.name, [ratio * each for each in spread])

    def spent(self) -> float:
        return self.cost * len(self.log)

    def climb(self, *techniques: Technique) -> Climb:
        return climb(techniques, "cpu", self.measure, self.spent)

    def count(self, stage: str) -> int:
        return sum(line.startswith(f"{stage} ") for line in self.log)


def product(**factors: float) -> TRUTH:
    """Each turned knob multiplies: no interactions."""

    def steps_per_s(setting: Setting) -> float:
        speed = 1.0
        for knob, factor in factors.items():
            if getattr(setting, knob) != getattr(Setting(), knob):
                speed *= factor
        return speed

    return steps_per_s


def test_keeps_what_pays_and_says_why_the_rest_is_left() -> None:
    machine = Machine(product(num_workers=1.3, precision=0.5, optimizer=1.0))
    found = machine.climb(BF16, WORKERS2, FUSED)
    assert found.kept == (WORKERS2,)
    assert [rung.name for rung in found.rungs] == ["workers2"]
    assert "0.50×" in found.left["amp_bf16"].reason
    assert set(found.left) == {"amp_bf16", "fused"}


def test_nothing_that_pays_leaves_the_plain_setting() -> None:
    machine = Machine(product(num_workers=0.9, precision=0.5))
    found = machine.climb(BF16, WORKERS2)
    assert found.kept == ()
    assert found.rungs == []
    assert machine.count(CONFIRM) == 0


def test_a_lucky_screening_is_not_kept_since_fresh_starts_decide() -> None:
    machine = Machine(product(), lucky={(SCREEN, "fused"): 1.4})
    found = machine.climb(FUSED)
    assert found.kept == ()
    assert found.confirmations == 1
    assert "not shown to pay" in found.left["fused"].reason


def test_what_is_printed_of_a_rung_is_its_confirmation() -> None:
    machine = Machine(product(num_workers=1.2), lucky={(SCREEN, "workers2"): 1.5})
    (rung,) = machine.climb(WORKERS2).rungs
    assert rung.confirmed.speedup == pytest.approx(1.2, rel=0.01)


def test_the_best_screened_is_confirmed_first_and_the_next_on_top_of_it() -> None:
    machine = Machine(product(num_workers=1.2, memory_format=1.5))
    machine.climb(WORKERS2, LAST)
    assert [line for line in machine.log if line.startswith(CONFIRM)] == [
        "confirm channels_last",
        "confirm workers2 on channels_last",
    ]


def test_workers_that_pay_only_once_computing_is_fast_are_found_in_the_second_pass() -> None:
    def bound_by_the_slower(setting: Setting) -> float:
        computing = 2.0 if setting.memory_format == "channels_last" else 1.0
        loading = 4.0 if setting.num_workers else 1.2
        return min(computing, loading)

    machine = Machine(bound_by_the_slower)
    assert machine.climb(WORKERS2, LAST).kept == (LAST, WORKERS2)
    assert "screen workers2 on channels_last" in machine.log


def test_what_is_hopeless_is_not_tried_again() -> None:
    machine = Machine(product(num_workers=1.3, precision=0.05))
    machine.climb(BF16, WORKERS2)
    assert [line for line in machine.log if "amp_bf16" in line] == ["screen amp_bf16"]


def test_another_value_of_a_knob_has_to_beat_the_value_that_is_kept() -> None:
    def knee(setting: Setting) -> float:
        return {0: 1.0, 2: 1.3, 4: 1.5}[setting.num_workers]

    machine = Machine(knee, lucky={(SCREEN, "workers2"): 1.3})  # looks like the better one
    found = machine.climb(WORKERS2, WORKERS4)
    assert found.kept == (WORKERS4,)
    assert "confirm workers4 on workers2" in machine.log
    assert [rung.dropped for rung in found.rungs] == ["replaced by workers4", None]


def test_a_technique_brings_the_ground_that_it_stands_on() -> None:
    assert move_for(PREFETCH, (), "cpu") == (WORKERS2, PREFETCH)
    assert move_for(PREFETCH, (WORKERS4,), "cpu") == (PREFETCH,)
    assert move_for(WORKERS4, (WORKERS4,), "cpu") is None


def test_leaving_one_out_drops_what_another_made_useless() -> None:
    def either(setting: Setting) -> float:
        """Fused helps on its own; beside bf16 it does nothing, and bf16 is better."""
        if setting.precision == "amp_bf16":
            return 2.0
        return 1.5 if setting.optimizer == "fused" else 1.0

    machine = Machine(either, lucky={(SCREEN, "fused"): 1.5})  # so that it is kept first
    found = machine.climb(BF16, FUSED)
    assert found.kept == (BF16,)
    assert found.rungs[0].dropped is not None
    assert "beside amp_bf16" in found.rungs[0].dropped
    assert "leave-out fused on amp_bf16" in machine.log


def test_ground_goes_together_with_what_stands_on_it() -> None:
    def only_bf16_in_the_end(setting: Setting) -> float:
        if setting.precision == "amp_bf16":
            return 3.0
        return 1.0 + 0.3 * (setting.num_workers > 0) + 0.3 * (setting.prefetch_factor > 2)

    lucky = {(SCREEN, "workers2"): 3.0, (SCREEN, "prefetch4"): 3.0, (SCREEN, "amp_bf16"): 0.5}
    found = Machine(only_bf16_in_the_end, lucky=lucky).climb(WORKERS2, PREFETCH, BF16)
    assert found.kept == (BF16,)


def test_the_last_rung_needs_no_leaving_out_since_its_confirmation_is_that() -> None:
    machine = Machine(product(num_workers=1.3, memory_format=1.5))
    machine.climb(WORKERS2, LAST)
    assert [line for line in machine.log if line.startswith(LEAVE_OUT)] == [
        "leave-out channels_last on workers2"
    ]


def test_the_budget_ends_each_stage_and_what_was_not_tried_is_named() -> None:
    machine = Machine(product(num_workers=1.3), cost=0.2)
    found = machine.climb(WORKERS2, LAST, FUSED, BF16)
    assert machine.count(SCREEN) == 3
    assert found.kept == (WORKERS2,)
    assert found.left["amp_bf16"].reason == "not tried: the budget ended"
    assert machine.spent() + machine.cost == pytest.approx(1.0)  # the total


def test_confirming_goes_on_as_long_as_there_is_time_for_the_rest() -> None:
    """A recipe of 20 minutes ended after 15, with what looked faster not confirmed."""
    tempting = [technique(f"threads{count}", threads=count) for count in range(2, 14)]
    lucky = {(SCREEN, each.name): 1.1 for each in tempting}
    machine = Machine(product(), lucky, cost=0.04)
    assert machine.climb(*tempting).kept == ()
    assert machine.count(CONFIRM) == 11
    assert 1 - machine.cost <= machine.spent() + machine.cost <= 1  # the total is left


def test_one_dear_trial_does_not_end_confirming() -> None:
    """Compiling took three times as long as any other trial: everything behind it was left."""
    tempting = [technique(f"threads{count}", threads=count) for count in range(2, 12)]
    lucky = {(SCREEN, each.name): 1.1 for each in tempting}
    lucky[SCREEN, "threads2"] = 1.2  # the first to be confirmed
    machine = Machine(product(), lucky, cost=0.04)
    dear = [0.0]

    def measure(trial: Trial) -> Record:
        dear[0] += 0.12 * (trial.stage == CONFIRM and trial.name == "threads2")
        return machine.measure(trial)

    climb(tempting, "cpu", measure, lambda: machine.spent() + dear[0])
    assert machine.count(CONFIRM) > 6


def test_each_rung_that_is_kept_takes_the_time_to_leave_it_out() -> None:
    paying = [technique(name, **{name: 2}) for name in ("threads", "bucket_mb", "accumulate")]
    machine = Machine(product(threads=1.3, bucket_mb=1.2, accumulate=1.1), cost=0.08)
    found = machine.climb(*paying, technique("x", batch=2.0), technique("y", learning_rate=2.0))
    assert found.kept == tuple(paying)
    assert [line.split()[0] for line in machine.log[-5:]] == [CONFIRM] * 3 + [LEAVE_OUT] * 2
    assert machine.spent() + machine.cost <= 1


def test_time_that_confirming_did_not_need_goes_to_what_was_not_tried() -> None:
    """A recipe of 14 minutes ended after 9, with a third of the techniques "not tried"."""
    useless = (
        WORKERS2,
        FUSED,
        BF16,
        technique("a", prefetch_factor=4),
        technique("b", bucket_mb=9),
    )
    machine = Machine(product(memory_format=1.5), cost=0.1)
    found = machine.climb(*useless, LAST)
    assert found.kept == (LAST,)
    assert machine.count(SCREEN) == len(useless) + 1
    late = Machine(product(), cost=0.1)
    assert late.climb(*useless, LAST, *(technique(n, threads=9) for n in "cde")).kept == ()
    assert late.count(SCREEN) == 7  # until the confirming of a second pass would begin


def test_a_promising_technique_that_the_budget_leaves_unconfirmed_is_not_kept() -> None:
    machine = Machine(product(num_workers=1.3, memory_format=1.5), cost=0.3)
    found = machine.climb(WORKERS2, LAST)
    assert found.kept == (LAST,)
    assert "not confirmed: the budget ended" in found.left["workers2"].reason


def test_another_value_that_the_budget_leaves_untried_says_so() -> None:
    machine = Machine(lambda setting: {0: 1.0, 2: 1.3, 4: 1.2}[setting.num_workers], cost=0.25)
    found = machine.climb(WORKERS2, WORKERS4)
    assert named(found.kept) == "workers2"
    assert found.left["workers4"].reason == (
        "screened at 1.19×, not tried on top of workers2: the budget ended"
    )


def test_the_most_promising_is_tried_first_on_top_of_what_was_kept() -> None:
    machine = Machine(product(num_workers=1.3, memory_format=0.95, optimizer=1.001))
    machine.climb(WORKERS2, LAST, FUSED)
    second = [line for line in machine.log if line.startswith("screen") and " on " in line]
    assert second == ["screen fused on workers2", "screen channels_last on workers2"]


def test_what_cannot_run_or_trains_wrongly_is_left_with_its_reason() -> None:
    def broken(trial: Trial) -> Record:
        return record(trial.name, outcome="invalid", reason="strides: contiguous")

    found = climb([LAST], "cpu", broken, lambda: 0.0)
    assert found.kept == ()
    assert found.left["channels_last"].reason == "invalid: strides: contiguous"


def test_what_a_kept_technique_brings_along_is_said_to_be_part_of_it() -> None:
    both = technique("pinned", pin_memory=True, non_blocking=True)
    pinned = technique("pin", pin_memory=True)
    machine = Machine(product(pin_memory=1.2, non_blocking=1.2))
    found = machine.climb(pinned, both)
    assert found.kept == (both,)
    assert found.left["pin"].reason == "is part of pinned"


def test_adding_replaces_what_turns_the_same_knobs_only() -> None:
    both = technique("pinned", pin_memory=True, non_blocking=True)
    pinned = technique("pin", pin_memory=True)
    assert add((pinned, FUSED), (both,)) == (FUSED, both)
    assert add((both, FUSED), (pinned,)) == (both, FUSED, pinned)


@pytest.mark.parametrize(
    ("ratios", "kept"),
    [
        ([1.1, 1.12, 1.11], True),  # faster
        ([0.95, 1.3, 1.0], True),  # unclear, above the margin
        ([0.9, 1.12, 1.0], False),  # unclear around 1
        ([1.0, 1.001, 1.0], False),  # same
        ([0.9, 0.91, 0.9], False),  # slower
    ],
)
def test_a_part_that_was_shown_to_pay_once_stays_unless_it_looks_useless(
    ratios: list[float], kept: bool
) -> None:
    assert still_pays(compared("fused", ratios)) == kept
