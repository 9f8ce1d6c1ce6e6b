"""The fewest loader workers that more do not beat."""

from results.knee import knee
from results.record import Record
from tests.results.examples import PLAIN, compared


def swept(**ratios: float) -> list[Record]:
    """Records of workers1=..., each measured in four starts that hardly differ."""
    return [
        compared(
            name,
            [ratio * wobble for wobble in (0.99, 1.0, 1.0, 1.01)],
            setting=PLAIN | {"num_workers": int(name.removeprefix("workers"))},
        )
        for name, ratio in ratios.items()
    ]


def test_it_is_the_fewest_that_reach_the_best() -> None:
    records = swept(workers1=1.3, workers2=1.9, workers4=2.4, workers8=2.41)
    assert knee(records) == "workers: the knee is at 4 (tried 1, 2, 4, 8)"


def test_throughput_that_rises_to_the_end_has_its_knee_there_or_beyond() -> None:
    assert knee(swept(workers1=1.3, workers2=1.9)) == (
        "workers: the knee is at least at 2 (tried 1, 2)"
    )


def test_workers_that_do_not_pay_are_said_not_to() -> None:
    assert knee(swept(workers1=0.7, workers2=1.0)) == ("workers: none is shown to pay (tried 1, 2)")


def test_one_number_alone_has_no_knee_and_other_changes_do_not_count() -> None:
    records = swept(workers1=1.3)
    other = PLAIN | {"num_workers": 2, "precision": "amp_bf16"}
    assert knee([*records, compared("both", [1.5, 1.5, 1.6, 1.5], setting=other)]) is None


def test_numbers_measured_against_unlike_baselines_are_not_compared() -> None:
    records = swept(workers1=1.3)
    on_bf16 = PLAIN | {"precision": "amp_bf16"}
    other = compared(
        "workers2 on amp_bf16",
        [1.5, 1.5, 1.6, 1.5],
        setting=on_bf16 | {"num_workers": 2},
        baseline=on_bf16,
    )
    assert knee([*records, other]) is None
