"""A record: strict JSON out, only true records in."""

import json
import subprocess
import sys

import pytest

from results.record import SCHEMA, Record, RecordError
from tests.results.examples import compared, laptop_run, record


@pytest.mark.parametrize("given", laptop_run(), ids=lambda given: given.technique)
def test_comes_back_as_it_was_written(given: Record) -> None:
    assert Record.from_json(given.to_json()) == given


def test_is_one_line_even_where_its_texts_have_several() -> None:
    line = record(log=["first\nsecond\u2028third"], notes=["a\r\nb"]).to_json()
    assert len(line.splitlines()) == 1


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_refuses_numbers_that_json_does_not_have_and_names_the_field(value: float) -> None:
    with pytest.raises(RecordError, match=r"record of .*: losses\[1\] is") as error:
        record(losses=[1.0, value]).to_json()
    assert "\n" not in str(error.value)
    with pytest.raises(RecordError, match=r"telemetry\.clock\.sm_mhz"):
        record(telemetry={"clock": {"sm_mhz": value}}).to_json()


def test_refuses_values_that_json_does_not_have() -> None:
    with pytest.raises(RecordError, match=r"setting\.path is a object"):
        record(setting={"path": object()}).to_json()


def test_ignores_keys_of_a_later_minor_version() -> None:
    given = record()
    line = json.dumps(json.loads(given.to_json()) | {"colour": "blue"})
    assert Record.from_json(line) == given


def test_takes_defaults_for_keys_that_an_earlier_version_did_not_write() -> None:
    plain = json.loads(record().to_json())
    del plain["notes"], plain["launch_s"]
    assert Record.from_json(json.dumps(plain)) == record()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": SCHEMA + 1}, "this version reads schema 1"),
        ({"schema": None}, "schema None"),
        ({"speedup": "fast"}, "speedup is"),
        ({"starts": True}, "starts is"),
        ({"step_s": {"median": 1.0}}, "step_s is"),
        ({"losses": [1.0, None]}, "losses is"),
        ({"blocks": [{"start": 0}]}, "blocks is"),
        ({"outcome": "great"}, "outcome 'great' is none of ok, skipped"),
        ({"verdict": "great"}, "verdict 'great' is none of faster"),
        ({"outcome": "failed"}, "failed needs a reason"),
    ],
)
def test_refuses_what_is_no_record_of_this_schema(change: dict[str, object], message: str) -> None:
    plain = json.loads(record().to_json()) | change
    with pytest.raises(RecordError, match=message) as error:
        Record.from_json(json.dumps(plain))
    assert "\n" not in str(error.value)


def test_names_what_is_missing() -> None:
    plain = json.loads(record().to_json())
    del plain["cell"], plain["unit"]
    with pytest.raises(RecordError, match="cell, unit missing"):
        Record.from_json(json.dumps(plain))


@pytest.mark.parametrize("text", ["", "{", "[]", "3", '{"schema": NaN}', "[" * 100_000])
def test_refuses_text_that_is_no_json_object(text: str) -> None:
    with pytest.raises(RecordError, match="not a record"):
        Record.from_json(text)


def test_whole_numbers_pass_for_fields_in_seconds() -> None:
    plain = json.loads(compared("workers2", [1.2, 1.3]).to_json()) | {"cold_s": 2}
    assert Record.from_json(json.dumps(plain)).cold_s == 2


@pytest.mark.parametrize("module", ["results", "results.record", "results.store"])
def test_importing_it_loads_nothing_heavy(module: str) -> None:
    heavy = "{'torch', 'pandas', 'numpy', 'scipy', 'rich', 'tabulate'}"
    code = f"import sys, {module}; print(sorted({heavy} & set(sys.modules)))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"
