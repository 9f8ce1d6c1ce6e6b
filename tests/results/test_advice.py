"""Advice and summary claim no more than was measured."""

from results.advice import advice, plain_and_best
from results.controls import missed
from results.record import Record
from results.summary import summary
from tests.results.examples import PLAIN, compared, laptop_run, record

CUDA = PLAIN | {"device": "cuda"}
QUIET = compared("control", [1.0, 1.01, 0.99, 1.0])
NOISY = compared("control", [1.05, 1.06, 1.055, 1.052])


def changed(name: str, ratios: list[float], **knobs: object) -> Record:
    return compared(name, ratios, setting=PLAIN | knobs)


WORKERS = changed("workers2", [1.21, 1.26, 1.24, 1.23], num_workers=2)
BOTH = changed("workers2 + amp_bf16", [1.18, 1.25, 1.31, 1.22], num_workers=2, precision="amp_bf16")
BETTER = changed("workers2 + amp_bf16", [1.5, 1.52, 1.51], num_workers=2, precision="amp_bf16")
SLOWER = changed("amp_bf16", [0.8, 0.81, 0.8], precision="amp_bf16")
SKIPPED = record("tf32", outcome="skipped", reason="no tensor cores")
UNCLEAR = changed("ddp2", [0.98, 1.05, 1.02], parallel="ddp2")


def test_names_what_is_fastest_and_by_how_much() -> None:
    assert advice([QUIET, WORKERS, BETTER, SLOWER]) == (
        "workers2 + amp_bf16 trains 1.51× (1.49–1.54) as fast as the plain setting."
    )


def test_prefers_the_simpler_of_two_that_cannot_be_told_apart() -> None:
    assert advice([QUIET, WORKERS, BOTH]) == (
        "workers2 trains 1.23× (1.20–1.27) as fast as the plain setting; "
        "workers2 + amp_bf16 at 1.24× (1.16–1.33) is not shown to be better."
    )


def test_says_that_more_ranks_train_a_larger_batch() -> None:
    ddp = compared("ddp2", [1.8, 1.82, 1.81], setting=PLAIN | {"parallel": "ddp2"}, world_size=2)
    assert "on 2 ranks with a global batch of 16" in advice([ddp])


def test_recommends_nothing_that_is_not_shown_to_be_faster() -> None:
    said = advice([QUIET, SLOWER, UNCLEAR])
    assert said.startswith("Nothing measured here beats the plain setting (1 slower, 1 unclear)")
    assert "ddp2 might still be up to 1.11× as fast, more starts would tell" in said
    assert "might" not in advice([QUIET, SLOWER])


def test_recommends_nothing_that_failed_or_did_not_take_effect() -> None:
    invalid = compared("ddp2", [1.8, 1.82], outcome="invalid", reason="not DDP")
    assert advice([invalid]) == "No setting could be compared here: 1 invalid."
    assert "ddp2" not in advice([QUIET, SLOWER, invalid])


def test_doubts_itself_when_the_control_does() -> None:
    said = advice([NOISY, WORKERS])
    assert "the control reads 1.05× (1.05–1.06) instead of 1: this run is noisy" in said
    assert "noisy" not in advice([QUIET, WORKERS])


def test_advises_on_the_device_that_trains_fastest() -> None:
    cuda = compared("cuda", [40, 41, 40.5], setting=CUDA, baseline=PLAIN, samples_per_s=4000)
    bf16 = compared(
        "amp_bf16",
        [2.1, 2.12],
        setting=CUDA | {"precision": "amp_bf16"},
        baseline=CUDA,
        samples_per_s=8000,
    )
    said = advice([WORKERS, cuda, bf16])
    assert said.startswith("cuda trains 40.5× (39.3–41.8) as fast as cpu; there, amp_bf16 trains")
    assert "workers2" not in said


def test_without_settings_to_compare_there_is_no_advice() -> None:
    assert advice([QUIET]) == "Only the control was measured, no setting to compare."


def test_a_hopeless_candidate_counts_as_slower() -> None:
    hopeless = record(outcome="timed_out", reason="x", verdict="slower", speedup_high=0.01)
    assert "(1 slower)" in advice([QUIET, hopeless])


def test_a_control_within_the_margin_is_not_noise() -> None:
    assert missed([compared("control", [1.003, 1.0031, 1.003])]) == []
    assert missed([NOISY, QUIET, WORKERS]) == [NOISY]


def test_summary_counts_outcomes_and_the_share_of_timed_time() -> None:
    lines = summary(laptop_run())
    assert lines[0] == "9 cells: 5 ok, 2 skipped, 1 failed, 1 timed out."
    assert lines[1] == "Measured for 2 min 36 s, 59% of it inside timed blocks."
    assert lines[2] == "The control (plain against plain) found no difference, as it must be."
    assert lines[3] == (
        "1 of 9 cells carries a note (†): "
        "resnet18, workers2 + amp_bf16: other programs used 41% of the CPU"
    )


def test_summary_says_that_a_run_is_noisy() -> None:
    assert summary([NOISY, QUIET])[2].startswith(
        "This run is noisy: 1 of 2 controls (plain against plain) excludes 1.00: resnet18 1.05×"
    )
    many = summary([NOISY, *[QUIET] * 39])
    assert any("By chance alone about 2 would." in line for line in many)


def test_summary_admits_that_there_was_no_control() -> None:
    assert "cannot vouch for itself" in summary([WORKERS])[2]


def test_summary_of_nothing() -> None:
    assert summary([]) == ["No cell was measured."]


def test_what_stands_on_another_baseline_alone_is_compared_with_that() -> None:
    """`-k prefetch` measures nothing that plain could be compared with."""
    workers = PLAIN | {"num_workers": 2}
    ahead = workers | {"prefetch_factor": 4}
    faster = compared("prefetch4 on workers2", [1.2, 1.21, 1.2], baseline=workers, setting=ahead)
    assert advice([faster, SKIPPED]) == (
        "prefetch4 on workers2 trains 1.20× (1.19–1.22) as fast as workers2 alone; "
        "nothing was compared with the plain setting."
    )
    slower = compared("prefetch4 on workers2", [0.9, 0.91, 0.9], baseline=workers, setting=ahead)
    assert advice([slower]) == "Nothing measured here beats what it is on (1 slower)."


def test_what_stands_on_another_baseline_is_not_compared_with_plain() -> None:
    """Five times as fast as slow workers may be slower than the plain setting."""
    workers = PLAIN | {"num_workers": 2}
    on_workers = compared(
        "prefetch4 on workers2",
        [5.0, 5.1, 5.05],
        baseline=workers,
        setting=workers | {"prefetch_factor": 4},
    )
    assert "prefetch4" not in advice([QUIET, on_workers, on_workers, on_workers, WORKERS])
    assert plain_and_best([QUIET, on_workers, WORKERS]) == [QUIET, WORKERS]
    # with no control to say what plain is, and more rows beside the other baseline
    assert advice([on_workers, on_workers, WORKERS]).startswith("workers2 trains 1.23×")
