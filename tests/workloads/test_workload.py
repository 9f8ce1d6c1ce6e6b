"""A declaration finds its scale and builds its parts, or says in one line why not."""

import subprocess
import sys
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest

from workloads import Scale, Source, Workload, WorkloadError

SCALE = Scale(batch=2, learning_rate=0.5, model={"width": 3}, data={"length": 7})


def workload(**changed: Any) -> Workload:
    return Workload(
        **{
            "name": "mine",
            "unit": "images",
            "model": dict,
            "data": lambda source, length: (source, length),
            "optimizer": lambda parameters, **options: (parameters, options),
            "scales": {"tiny": SCALE},
            **changed,
        }
    )


def test_named_scale_is_found() -> None:
    other = Scale(batch=4, learning_rate=0.1, model={}, data={})
    assert workload(scales={"tiny": SCALE, "full": other}).scale("full") is other


def test_only_scale_serves_for_any_name() -> None:
    assert workload().scale("full") is SCALE


def test_missing_scale_is_an_error_that_names_the_others() -> None:
    two = workload(scales={"tiny": SCALE, "small": SCALE})
    with pytest.raises(WorkloadError, match="mine has no scale 'full': choose from tiny, small"):
        two.scale("full")


def test_parts_get_what_the_scale_says(tmp_path: Path) -> None:
    mine, source = workload(), Source(cache=tmp_path)
    model: Any = mine.build_model(SCALE)
    data: Any = mine.build_data(SCALE, source)
    assert model == {"width": 3}
    assert data == (source, 7)


def test_optimizer_gets_rate_and_implementation() -> None:
    built: Any = workload().build_optimizer([], SCALE, fused=True)
    assert built == ([], {"lr": 0.5, "fused": True})


def test_part_can_be_named_instead_of_given() -> None:
    assert workload(model="collections:OrderedDict").build_model(SCALE) == OrderedDict(width=3)


@pytest.mark.parametrize(
    "reference", ["no_such_module:model", "collections:nothing", "collections"]
)
def test_part_that_cannot_be_imported_is_named(reference: str) -> None:
    with pytest.raises(WorkloadError, match=f"mine: cannot import its model '{reference}'"):
        workload(model=reference).build_model(SCALE)


def test_preparing_builds_the_data(tmp_path: Path) -> None:
    prepared = []
    mine = workload(data=lambda source, length: prepared.append((source.cache, length)))
    mine.prepare(SCALE, Source(cache=tmp_path))
    assert prepared == [(tmp_path, 7)]


@pytest.mark.parametrize("module", ["workloads", "workloads.catalog"])
def test_import_is_light(module: str) -> None:
    heavy = "{'torch', 'torchvision', 'numpy', 'PIL', 'pandas', 'scipy'}"
    code = f"import sys, {module}; print(sorted({heavy} & set(sys.modules)))"
    said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert said.stdout.strip() == "[]"
