"""A finished table: the right rows in the right order, one unit per column, nothing hidden."""

from typing import Any

import pytest

from results import wording
from results.flat import ColumnError
from results.record import Record
from results.table import NotMeasured, Table, frame, workload_tables
from tests.results.examples import MIB, PLAIN, compared, laptop_run, record

CUDA = PLAIN | {"device": "cuda"}


def only(records: list[Record], **options: Any) -> Table:
    (table,) = workload_tables(records, **options)
    return table


def column(table: Table, key: str) -> list[str]:
    place = [heading.key for heading in table.headings].index(key)
    return [row[place] for row in table.rows]


def heading(table: Table, key: str) -> str:
    return next(heading.text for heading in table.headings if heading.key == key)


def test_control_comes_first_then_the_fastest() -> None:
    assert column(only(laptop_run()), "technique") == [
        "plain (control)",
        "workers2 + amp_bf16 †",
        "workers2",
        "ddp2",
        "amp_bf16",
        "amp_fp16 †",
    ]


def test_headings_say_what_is_counted_and_in_which_unit() -> None:
    assert [heading.text for heading in only(laptop_run()).headings] == [
        "setting",
        "images/s",
        "step, median (ms)",
        "step, p90 (ms)",
        "speed-up (95% interval)",
        "verdict",
        "CPU (%)",
        "memory (MiB)",
    ]
    assert heading(only([compared("x", [1, 1.1], unit="tokens")]), "samples_per_s") == "tokens/s"


def test_every_cell_that_was_not_ok_is_listed_with_its_reason() -> None:
    table = only(laptop_run())
    assert table.not_measured == (
        NotMeasured("skipped", "dp needs 2 GPUs, found 0", ("dp", "workers2 + dp")),
        NotMeasured(
            "failed", "rank 1 ended with signal 9 (killed): was memory short?", ("workers2 + ddp2",)
        ),
    )
    assert "amp_fp16: timed out, no step within 20 s; the plain setting takes 0.12 s" in table.notes
    assert "workers2 + amp_bf16: other programs used 41% of the CPU" in table.notes


def test_a_number_whose_technique_did_not_take_effect_is_no_row() -> None:
    table = only([compared("ddp2", [1.9, 1.8], outcome="invalid", reason="strategy is DP")])
    assert table.rows == ()
    assert table.not_measured == (NotMeasured("invalid", "strategy is DP", ("ddp2",)),)


def test_a_timed_out_row_shows_its_bound() -> None:
    table = only(laptop_run())
    assert (column(table, "speedup")[-1], column(table, "verdict")[-1]) == ("≤ 0.01×", "slower")


def test_median_and_p90_share_a_unit_although_each_alone_would_not() -> None:
    slow = {"median": 0.9, "p10": 0.8, "p90": 1.1, "p99": 1.2}
    table = only([compared("x", [1.1, 1.2], step_s=slow)])
    assert heading(table, "step_s.median") == "step, median (s)"
    assert column(table, "step_s.median") + column(table, "step_s.p90") == ["0.90", "1.10"]


def test_memory_has_one_unit_for_the_whole_column() -> None:
    rows = [
        compared(name, [1.1, 1.2], resident_bytes=mib * MIB)
        for name, mib in (("a", 900), ("b", 2048), ("c", 4096))
    ]
    table = only(rows)
    assert heading(table, "resident_bytes") == "memory (GiB)"
    assert sorted(column(table, "resident_bytes")) == ["0.88", "2.00", "4.00"]


def test_gpu_figures_replace_the_cpus_where_there_are_any() -> None:
    gpu = {"gpu_utilization_pct": 93.4, "peak_memory_bytes": 2**31}
    on_gpu = only([compared("amp_bf16", [2.1, 2.2], **gpu)])
    keys = [heading.key for heading in on_gpu.headings]
    assert "gpu_utilization_pct" in keys
    assert "peak_memory_bytes" in keys
    assert not {"cpu_utilization_pct", "resident_bytes"} & set(keys)
    assert column(on_gpu, "gpu_utilization_pct") == ["93"]


def test_unknown_is_never_zero() -> None:
    table = only(
        [
            compared("a", [1.1, 1.2], cpu_utilization_pct=None),
            compared("b", [1.2, 1.3], cpu_utilization_pct=0.0),
        ]
    )
    assert column(table, "cpu_utilization_pct") == ["0", "–"]
    assert "–: unknown" in table.legend


def test_devices_and_baselines_are_columns_only_where_they_differ() -> None:
    cells = [
        compared("control", [1, 1.01], setting=CUDA, baseline=CUDA),
        compared("cuda", [40, 41], setting=CUDA, baseline=PLAIN),
        compared("control", [1, 1.01]),
    ]
    table = only(cells)
    assert column(table, "setting.device") == ["cuda", "cuda", "cpu"]
    assert column(table, "baseline.device") == ["cuda", "cpu", "cpu"]
    assert any("over its baseline's" in heading.legend for heading in table.headings)
    assert len(set(table.rows)) == 3
    keys = [heading.key for heading in only(laptop_run()).headings]
    assert not {"setting.device", "baseline.device", "cell"} & set(keys)


def test_rows_that_would_look_alike_show_their_case() -> None:
    cells = [
        compared("control", [1, 1.01], cell=f"test_control[resnet18-{number}]")
        for number in range(3)
    ]
    assert len(set(column(only(cells), "cell"))) == 3


def test_what_both_arms_have_stands_in_the_label_alone() -> None:
    """A column repeated it, knob by knob: four lines a row where the knob was an environment's."""
    cells = [
        compared("amp_bf16", [1.1, 1.3], setting={**PLAIN, "precision": "amp_bf16"}),
        compared("prefetch4 on workers2", [1.1, 1.4], baseline={**PLAIN, "num_workers": 2}),
        compared("bucket100 on ddp2", [1, 1.1], baseline={**PLAIN, "parallel": "ddp2", "x": 4}),
    ]
    table = only(cells)
    assert not {"setting.device", "baseline.device"} & {heading.key for heading in table.headings}
    assert "a on b: both have b, only the row has a" in table.legend
    assert any("over its baseline's" in heading.legend for heading in table.headings)
    assert any(line.startswith("plain: precision fp32") for line in table.legend)
    assert not any(" on " in line for line in only(cells[:1]).legend)


def test_legend_says_what_plain_is_by_the_knobs_that_are_turned() -> None:
    legend = only(laptop_run()).legend
    assert legend[0] == "plain: precision fp32, num_workers 0, parallel single"


def test_legend_explains_the_verdicts_that_occur() -> None:
    (verdict,) = [h for h in only(laptop_run()).headings if h.key == "verdict"]
    assert all(word in verdict.legend for word in ("faster:", "slower:", "same:", "unclear ±x%:"))
    (verdict,) = [h for h in only([compared("a", [1.2, 1.21])]).headings if h.key == "verdict"]
    assert verdict.legend == "faster: interval wholly above 1"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"speedup": 1.314, "speedup_low": 1.258, "speedup_high": 1.372}, "1.31× (1.26–1.37)"),
        ({"speedup": 89.57, "speedup_low": 87.7, "speedup_high": 91.46}, "89.6× (87.7–91.5)"),
        ({"speedup": 1.2}, "1.20×"),
        ({"speedup": 1.2, "speedup_low": 0.0}, "1.20× (0.00–∞)"),
        ({"speedup_high": 0.0012}, "≤ 0.01×"),
        ({"speedup_high": 0.011}, "≤ 0.02×"),  # rounded up: it is an upper bound
        ({"speedup_high": 0.01}, "≤ 0.01×"),
        ({}, "–"),
    ],
)
def test_speedups_in_words(fields: dict[str, Any], words: str) -> None:
    assert wording.speedup(record(**fields)) == words


def test_an_interval_that_excludes_one_is_never_printed_as_if_it_held_one() -> None:
    table = only([compared("a", [1.0035, 1.0036, 1.0035]), compared("b", [1.2, 1.3])])
    assert column(table, "speedup")[-1] == "1.004× (1.003–1.004)"


def test_one_start_is_unclear_and_says_why() -> None:
    assert column(only([compared("a", [1.4])]), "verdict") == ["unclear, 1 start"]


def test_sorting_is_largest_first_with_the_unknown_last() -> None:
    slow = {"ascending": True, "sort": "step_s.median"}
    assert column(only(laptop_run(), sort="speedup"), "technique")[0].startswith("workers2 +")
    assert column(only(laptop_run(), **slow), "technique")[0].startswith("workers2 +")
    assert column(only(laptop_run(), **slow), "technique")[-1] == "amp_fp16 †"
    assert column(only(laptop_run(), sort="speedup"), "technique")[-1] == "amp_fp16 †"


def test_any_field_can_be_a_column_with_the_unit_its_name_says() -> None:
    table = only([compared("a", [1.1, 1.2], cold_s=2.5)], show=["cold_s", "setting.precision"])
    assert [heading.text for heading in table.headings] == [
        "setting",
        "cold (s)",
        "setting precision",
    ]
    assert table.rows == (("a", "2.50", "fp32"),)


@pytest.mark.parametrize("options", [{"sort": "spedup"}, {"show": ["spedup"]}])
def test_an_unknown_column_is_answered_with_those_that_look_like_it(
    options: dict[str, Any],
) -> None:
    with pytest.raises(ColumnError, match="did you mean speedup or"):
        workload_tables(laptop_run(), **options)


def test_each_workload_and_scale_has_its_own_table() -> None:
    cells = [record(), record(scale="full"), record(workload="gpt2"), record("ddp2")]
    assert len(workload_tables(cells)) == 3
    assert workload_tables([]) == []


def test_a_table_of_skips_alone_has_no_rows_and_still_says_why() -> None:
    table = only([record("dp", outcome="skipped", reason="dp needs 2 GPUs, found 0")])
    assert table.rows == ()
    assert table.not_measured[0].reason == "dp needs 2 GPUs, found 0"
    assert table.advice == "No setting could be compared here: 1 skipped."


def test_frame_has_every_field_flat_with_one_type_a_column() -> None:
    table = frame(laptop_run())
    assert len(table) == len(laptop_run())
    assert table["step_s.p90"].dtype == "float64"
    assert table["resident_bytes"].dtype == "Int64"
    assert table["energy_j_per_sample"].dtype == "float64"  # although nobody knows it
    assert list(table["setting.precision"].unique()) == ["fp32", "amp_bf16", "amp_fp16"]
    assert table["step_s.p90"].isna().sum() == 4
    assert "blocks" not in table
    assert len(frame([])) == 0
