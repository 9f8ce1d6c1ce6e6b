"""pytest-benchmark's JSON of a run for other tools: strict, with the record of each cell."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from results.record import Record


def add_records(content: dict[str, Any], records: Sequence[Record]) -> None:
    """The record as extra_info, and its setting as parameters instead of a Python object's text."""
    known = {record.cell: record for record in records}
    for entry in content["benchmarks"]:
        if record := known.get(entry["name"]):
            entry["extra_info"] = json.loads(record.to_json())
            entry["params"] = record.setting


def benchmark_json(config: pytest.Config) -> str:
    """What `--benchmark-json` writes, as strict JSON."""
    hook, benchmarks = config.hook, config._benchmarksession.benchmarks  # type: ignore[attr-defined]
    content = hook.pytest_benchmark_generate_json(
        config=config,
        benchmarks=benchmarks,
        include_data=True,
        machine_info=hook.pytest_benchmark_generate_machine_info(config=config),
        commit_info=hook.pytest_benchmark_generate_commit_info(config=config),
    )
    hook.pytest_benchmark_update_json(config=config, benchmarks=benchmarks, output_json=content)
    return json.dumps(content, allow_nan=False, indent=2, default=str) + "\n"
