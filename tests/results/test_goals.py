"""Tables that are not about throughput say what they are about."""

from typing import Any

from results.advice import plain_and_best
from results.goals import advice
from results.record import Record
from results.render import terminal
from results.table import workload_tables
from tests.results.examples import compared

TARGET = {"goal": "time_to_target", "target_loss": 3.5, "target_s": 4.0, "target_steps": 30.0}


def found(technique: str, **given: Any) -> Record:
    return compared(technique, [1.5, 1.5, 1.52, 1.48], **given)


def test_a_time_to_target_gets_a_table_of_its_own_that_names_it() -> None:
    records = [
        found("amp_bf16"),
        found("batch_x2 + lr_linear", **TARGET, baseline_target_s=6.0, baseline_target_steps=50.0),
    ]
    throughput, target = workload_tables(records)
    assert "training loss" not in throughput.title
    assert target.title.endswith("time to a training loss of 3.5")
    assert [heading.key for heading in target.headings][-2:] == ["target_speedup", "verdict"]
    assert "samples_per_s" not in [heading.key for heading in target.headings]
    assert target.rows[0][1:5] == ("4.00", "6.00", "30.0", "50.0")
    assert target.advice.startswith("batch_x2 + lr_linear reaches the target loss")


def test_in_a_narrow_window_the_setting_keeps_its_name() -> None:
    record = found("batch_x4", **TARGET, baseline_target_s=24.7, baseline_target_steps=55.0)
    assert "batch_x4" in terminal(workload_tables([record]), width=72).split("†")[0]


def test_nothing_sooner_is_said_to_be_so() -> None:
    slower = found(
        "batch_x4", **TARGET, speedup=0.5, speedup_low=0.4, speedup_high=0.6, verdict="slower"
    )
    assert advice([slower]) == (
        "No other batch is shown to reach the target loss sooner than the plain setting."
    )


def test_the_largest_batch_is_a_row_with_its_number() -> None:
    attempts = [{"batch": 1024, "outcome": "ok"}]
    record = found(
        "largest batch",
        goal="largest_batch",
        batch=1024,
        attempts=attempts,
        speedup=None,
        speedup_low=None,
        speedup_high=None,
        verdict=None,
    )
    (table,) = workload_tables([record])
    assert "1,024" in table.rows[0]
    assert table.advice == "The largest batch that fits is at least 1,024 per device."
    refused = [*attempts, {"batch": 1088, "outcome": "out_of_memory"}]
    bounded = found("largest batch", goal="largest_batch", batch=1024, attempts=refused)
    assert advice([bounded]) == "The largest batch that fits is 1,024 per device."


def test_only_throughput_is_looked_into() -> None:
    assert not plain_and_best([found("batch_x2", **TARGET)])
    assert plain_and_best([found("batch_x2", verdict="faster")])
