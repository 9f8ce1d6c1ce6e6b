"""The gate: innocent cells pass whatever their number, guilty ones are named, doubt is said."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from results.gate import Evidence, Result, Rules, judge, to_confirm
from results.proportion import wilson
from tests.results.simulated_gate import SD, Noise, drift, heavy_tails, normal, regressed

RULES = Rules()
STEADY = (0.001, -0.002, 0.002, -0.001)
SLOWER = tuple(math.log(ratio) for ratio in (0.90, 0.91, 0.89, 0.90))
FASTER = tuple(-each for each in SLOWER)
MARGIN = math.log1p(-RULES.margin)


def cell(name: str = "a", screening: Sequence[float] = STEADY, **given: Any) -> Evidence:
    return Evidence(cell=name, screening=screening, **given)


def control(screening: Sequence[float] = STEADY, **given: Any) -> Evidence:
    return Evidence(cell="control", screening=screening, control=True, **given)


def verdicts(result: Result) -> dict[str, str]:
    return {each.cell: each.verdict for each in result.findings}


def test_steady_cells_pass() -> None:
    result = judge([cell("a"), cell("b"), control()], RULES)
    assert (result.outcome, result.exit_code, result.reasons) == ("no regression", 0, ())
    assert set(verdicts(result).values()) == {"same"}
    assert to_confirm([cell("a"), cell("b"), control()], RULES) == []


def test_a_slower_cell_is_confirmed_on_fresh_starts_together_with_the_controls() -> None:
    seen = [cell("a"), cell("slow", SLOWER), control()]
    assert to_confirm(seen, RULES) == ["slow", "control"]
    again = [
        seen[0],
        replace(seen[1], confirmation=SLOWER),
        replace(seen[2], confirmation=STEADY),
    ]
    result = judge(again, RULES)
    assert (result.outcome, result.exit_code) == ("regression", 1)
    assert verdicts(result) == {"a": "same", "slow": "regressed", "control": "same"}
    assert result.reasons == ("slow: slower than 0.97×",)


def test_screening_alone_convicts_nobody_and_is_no_pass_either() -> None:
    result = judge([cell("slow", SLOWER)], RULES)
    assert (result.outcome, result.exit_code) == ("inconclusive", 3)
    assert result.reasons == ("slow: looks slower and was not measured again",)
    one_fresh = judge([cell("slow", SLOWER, confirmation=SLOWER[:1])], RULES)
    assert one_fresh.outcome == "inconclusive"


def test_a_cell_cleared_by_fresh_starts_passes_whatever_screening_said() -> None:
    result = judge([cell("slow", SLOWER, confirmation=STEADY)], RULES)
    assert (result.outcome, verdicts(result)["slow"]) == ("no regression", "same")


def test_a_single_start_is_only_a_suspicion() -> None:
    assert to_confirm([cell("one", SLOWER[:1]), cell("fine", STEADY[:1])], RULES) == ["one"]


def test_a_slowdown_within_the_margin_is_forgiven() -> None:
    slight = [math.log(0.98) + each for each in STEADY]
    assert to_confirm([cell("a", slight)], RULES) == []
    assert judge([cell("a", slight)], RULES).outcome == "no regression"
    assert to_confirm([cell("a", slight)], Rules(margin=0.01)) == ["a"]


def test_a_gain_is_named_and_is_no_regression() -> None:
    result = judge([cell("a", FASTER), control()], RULES)
    assert (result.outcome, verdicts(result)["a"]) == ("no regression", "improved")


def test_too_wide_to_tell_says_what_it_could_have_seen() -> None:
    result = judge([cell("a", (0.05, -0.06, 0.04, -0.01))], RULES)
    found = result.findings[0]
    assert (found.verdict, result.outcome) == ("unclear", "no regression")
    assert found.detectable is not None
    assert 0.1 < found.detectable < 0.2


@pytest.mark.parametrize("screening", [SLOWER, FASTER])
def test_a_control_that_differs_makes_every_time_inconclusive(screening: Sequence[float]) -> None:
    seen = [cell("slow", SLOWER, confirmation=SLOWER), control(screening, confirmation=screening)]
    result = judge(seen, RULES)
    assert (result.outcome, result.exit_code) == ("inconclusive", 3)
    assert verdicts(result)["control"] == "differs"
    assert result.reasons == ("control control: differs from itself",)


def test_a_control_that_differs_in_screening_gets_a_second_look() -> None:
    seen = [cell("a"), control(SLOWER)]
    assert to_confirm(seen, RULES) == ["control"]
    assert judge([seen[0], replace(seen[1], confirmation=STEADY)], RULES).exit_code == 0


def test_a_control_off_by_less_than_the_margin_spoils_nothing() -> None:
    seen = [cell("a"), control([0.01 + each / 10 for each in STEADY])]
    assert to_confirm(seen, RULES) == []
    assert judge(seen, RULES).exit_code == 0


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"peak_memory_bytes": 1020, "old_peak_memory_bytes": 1000}, "peak memory"),
        ({"losses": [7.0, 6.0], "old_losses": [7.0, 6.5]}, "loss of step 1 went from 6.5 to 6"),
        ({"losses": [math.nan], "old_losses": [7.0]}, "loss of step 0"),
        ({"broken": "KeyError: 'lr'"}, "does not run any more: KeyError: 'lr'"),
    ],
)
def test_memory_losses_and_crashes_fail_the_gate_even_on_a_noisy_machine(
    given: dict[str, Any], word: str
) -> None:
    for company in ([], [control(SLOWER, confirmation=SLOWER)]):
        result = judge([cell("a", **given), *company], RULES)
        assert result.exit_code == 1
        assert word in result.reasons[0]


@pytest.mark.parametrize(
    "given",
    [
        {"peak_memory_bytes": 1009, "old_peak_memory_bytes": 1000},
        {"peak_memory_bytes": 500, "old_peak_memory_bytes": 1000},
        {"peak_memory_bytes": 1090, "old_peak_memory_bytes": 1000, "resident_memory": True},
        {"peak_memory_bytes": 1090, "old_peak_memory_bytes": None},
        {"losses": [7.0001, 6.0], "old_losses": [7.0]},
    ],
)
def test_memory_and_losses_within_tolerance_pass(given: dict[str, Any]) -> None:
    assert judge([cell("a", **given)], RULES).exit_code == 0


def test_memory_that_changes_in_a_control_too_accuses_no_cell() -> None:
    grown: dict[str, Any] = {"peak_memory_bytes": 1020, "old_peak_memory_bytes": 1000}
    result = judge([cell("a", **grown), control(**grown)], RULES)
    assert result.outcome == "inconclusive"


@pytest.mark.parametrize(
    ("seen", "reason"),
    [
        ([], "nothing was measured"),
        ([cell("a", (), unmeasured="skipped: no GPU")], "nothing was measured: skipped: no GPU"),
        ([control()], "nothing was measured"),
        ([cell("a"), cell("b", (), unmeasured="not_run: budget")], "b: not_run: budget"),
    ],
)
def test_what_was_not_measured_is_never_a_pass(seen: list[Evidence], reason: str) -> None:
    result = judge(seen, RULES)
    assert (result.exit_code, result.reasons) == (3, (reason,))


def test_two_cells_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="one name"):
        judge([cell("a"), cell("a")], RULES)


@pytest.mark.parametrize("name", ["family_error", "margin", "power", "loss_tolerance"])
def test_rules_out_of_range_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        Rules(**{name: 3})


@pytest.mark.parametrize("mean", [0.0, MARGIN, math.log(0.93)])
def test_the_simulation_says_what_the_gate_says(mean: float) -> None:
    random = np.random.default_rng(3)
    screening, confirmation = (mean + normal(random, (30, 4, 4)) for _ in range(2))
    expected = regressed(screening, confirmation, 0.03, 0.2, 0.05)
    for run in range(30):
        seen = [cell(str(place), screening[run, place]) for place in range(4)]
        again = to_confirm(seen, RULES)
        seen = [
            replace(each, confirmation=list(confirmation[run, place]))
            if each.cell in again
            else each
            for place, each in enumerate(replace(e, screening=list(e.screening)) for e in seen)
        ]
        said = [each.verdict == "regressed" for each in judge(seen, RULES).findings]
        assert said == list(expected[run])


def family_error(noise: Noise, mean: float, *, runs: int = 10_000, cells: int = 10) -> int:
    """Of `runs` gate runs on innocent cells, how many accused any."""
    random = np.random.default_rng(17)
    screening, confirmation = (mean + noise(random, (runs, cells, 4)) for _ in range(2))
    return int(regressed(screening, confirmation, 0.03, 0.2, 0.05).any(axis=1).sum())


@pytest.mark.parametrize("noise", [normal, heavy_tails, drift])
def test_family_error_of_10_000_runs_stays_below_5_percent(noise: Noise) -> None:
    # Every one of ten cells exactly at the margin: nothing innocent is closer to being accused.
    low, _ = wilson(family_error(noise, MARGIN), 10_000)
    assert low <= 0.05


@pytest.mark.parametrize("noise", [normal, heavy_tails, drift])
def test_unchanged_revisions_are_accused_in_fewer_than_one_run_in_200(noise: Noise) -> None:
    _, high = wilson(family_error(noise, 0.0), 10_000)
    assert high <= 0.005


@pytest.mark.parametrize("noise", [normal, heavy_tails, drift])
@pytest.mark.parametrize("starts", [4, 8])
def test_intervals_of_10_000_runs_hold_the_truth(noise: Noise, starts: int) -> None:
    from scipy import stats

    ratios = noise(np.random.default_rng(23), (10_000, starts))
    half = stats.t.ppf(0.975, starts - 1) * ratios.std(axis=1, ddof=1) / math.sqrt(starts)
    low, high = wilson(int((np.abs(ratios.mean(axis=1)) <= half).sum()), 10_000, 0.999)
    assert high >= 0.95
    if noise is normal:
        assert low <= 0.95  # and no wider than it has to be


def test_the_noise_of_the_simulation_is_as_wide_as_the_noise_measured() -> None:
    for noise in (normal, heavy_tails):
        assert noise(np.random.default_rng(1), (200_000,)).std() == pytest.approx(SD, rel=0.1)
    assert drift(np.random.default_rng(1), (20_000,)).std() >= SD
