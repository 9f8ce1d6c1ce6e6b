"""From a record to the one sentence: what comes first, and when it says that it does not know."""

from typing import Any

from results.diagnosis import Numbers, diagnose, numbers, sentence
from results.diagnosis.numbers import shares
from results.record import Record
from results.render import markdown, terminal
from results.table import workload_tables
from tests.results.examples import compared

ATTRIBUTION = {
    "data_s": 0.06,
    "copy_s": None,
    "forward_s": 0.015,
    "backward_s": 0.02,
    "optimizer_s": 0.005,
    "communication_s": None,
    "other_s": 0.0,
    "loader_samples_per_s": 80.0,
    "compute_samples_per_s": 200.0,
    "steps": 20,
}
QUIET = {"cpu_cores": 8, "foreign_cpu_cores": 0.1, "cpu_by_process_pct": {"training0": 99.0}}


def diagnosed(**given: Any) -> Record:
    """A record that was attributed on a quiet machine of eight cores."""
    fields: dict[str, Any] = {
        "attribution": ATTRIBUTION,
        "telemetry": {"candidate": QUIET},
        "world_size": 1,
    }
    return compared("plain", [1.0, 1.0], **(fields | given))


def test_shares_are_of_the_known_parts() -> None:
    found = shares(ATTRIBUTION)
    assert found is not None
    assert found["data"] == 0.6
    assert "copy" not in found
    assert abs(sum(found.values()) - 1) < 1e-12
    assert shares({}) is None
    assert shares({"data_s": 0.0, "forward_s": 0.0}) is None


def test_a_records_numbers_are_found_where_telemetry_puts_them() -> None:
    found = numbers(diagnosed())
    assert (found.cpu_cores, found.cpu_busiest_pct, found.loader_samples_per_s) == (8, 99.0, 80.0)
    assert found.gpu_busy_pct is None
    bare = numbers(compared("plain", [1.0, 1.0]))
    assert bare.shares is None
    assert bare.cpu_cores is None


def test_one_sentence_with_evidence_and_what_to_try() -> None:
    assert sentence(diagnosed()) == (
        "data loading: 60% of a step waits for data, the loader alone gives 80 images/s, "
        "compute takes 200; try workers2, pre_resized or decode_torchvision"
    )


def test_a_disturbance_comes_before_what_it_may_have_caused() -> None:
    record = diagnosed(telemetry={"candidate": QUIET | {"foreign_cpu_cores": 4.0}})
    assert sentence(record).startswith("foreign load: others used 4.0 of 8 cores")
    assert sentence(record).endswith("(next: data loading, 60%)")


def test_waiting_comes_before_limits_and_the_larger_wait_first() -> None:
    found = diagnose(
        Numbers(
            device="cuda",
            shares={"data": 0.3, "copy": 0.35, "forward": 0.2, "backward": 0.1, "optimizer": 0.05},
            power_limited_share=1.0,
        )
    )
    assert [finding.binds for finding in found.findings] == [
        "host-to-device copies",
        "data loading",
        "power limit",
    ]


def test_it_is_not_clear_where_numbers_are_missing_or_fit_no_rule() -> None:
    nothing = sentence(compared("plain", [1.0, 1.0]))
    assert nothing == "not clear: where a step's time goes was not measured"
    mixed = {"data_s": 2, "forward_s": 3, "backward_s": 3, "optimizer_s": 1, "other_s": 3}
    text = sentence(diagnosed(attribution=mixed, cpu_utilization_pct=640.0))
    assert text.startswith("not clear: no rule fits a step of forward 25%, backward 25%, other 25%")
    assert "unknown: memory bandwidth" in text


def test_a_diagnosis_survives_the_record() -> None:
    record = diagnosed(diagnosis="compute: all of it", mfu=0.4, flops_per_step=1e12)
    again = Record.from_json(record.to_json())
    assert (again.diagnosis, again.mfu, again.flops_per_step) == ("compute: all of it", 0.4, 1e12)
    assert again.attribution == ATTRIBUTION


def test_tables_say_what_binds_once_for_all_rows_of_one_answer() -> None:
    said = "data loading: 60% of a step waits for data; try workers2"
    records = [
        diagnosed(diagnosis=said),
        compared("amp_bf16", [1.1, 1.2], diagnosis=said),
        compared("channels_last", [1.1, 1.2]),
    ]
    tables = workload_tables(records)
    assert tables[0].diagnoses == (f"amp_bf16 and plain – {said}",)
    assert said in markdown(tables)
    assert said in " ".join(terminal(tables, 200).split())
    assert workload_tables([compared("ddp2", [1.1, 1.2])])[0].diagnoses == ()
