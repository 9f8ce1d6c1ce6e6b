"""A name or file:name becomes a workload, or one line says what to do."""

import pickle
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from workloads import CATALOG, WorkloadError, load

MINE = """
from beside_mine import SCALE
from workloads import Workload

def model(**options):
    return options

def data(source, **options):
    return options

mine = Workload(name="mine", unit="images", model=model, data=data, optimizer=model,
                scales={"only": SCALE})
number = 3
"""
BESIDE = """
from workloads import Scale
SCALE = Scale(batch=2, learning_rate=0.1, model={"width": 3}, data={})
"""


@pytest.fixture(autouse=True)
def _unimported(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Modules and path are afterwards as before: every test imports its own file."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        del sys.modules[name]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "beside_mine.py").write_text(BESIDE)
    path = tmp_path / "my_workload.py"
    path.write_text(MINE)
    return path


def test_catalog_name() -> None:
    assert load("resnet18") is CATALOG["resnet18"]


def test_file_with_a_module_beside_it(file: Path) -> None:
    mine = load(f"{file}:mine")
    model: Any = mine.build_model(mine.scale("tiny"))
    assert model == {"width": 3}


def test_loading_twice_imports_once(file: Path) -> None:
    assert load(f"{file}:mine") is load(f"{file}:mine")


def test_relative_path(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(file.parent)
    assert load("my_workload.py:mine").name == "mine"


def test_parts_of_a_file_reach_spawned_workers(file: Path) -> None:
    mine = load(f"{file}:mine")
    assert pickle.loads(pickle.dumps(mine)).model is mine.model


@pytest.mark.parametrize("reference", ["resnet19", "my_workload.py", "folder/file.txt:mine", ""])
def test_unknown_name_lists_the_known(reference: str) -> None:
    with pytest.raises(WorkloadError, match=r"choose from resnet18, .*path/to/file.py:name"):
        load(reference)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("other", r"no 'other'; want other = workloads.Workload\(...\)"),
        ("number", "'number' is a int; want number ="),
    ],
)
def test_file_without_the_workload(file: Path, name: str, said: str) -> None:
    with pytest.raises(WorkloadError, match=said):
        load(f"{file}:{name}")


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(WorkloadError, match=r"gone\.py does not exist"):
        load(f"{tmp_path}/gone.py:mine")


def test_file_that_fails_to_import_says_why_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "broken_workload.py"
    path.write_text("raise RuntimeError('two\\nlines')")
    with pytest.raises(WorkloadError, match="does not import: RuntimeError: two lines"):
        load(f"{path}:mine")
    assert "broken_workload" not in sys.modules


@pytest.mark.parametrize("name", ["json.py", "sys.py", "results.py", "my.workload.py"])
def test_file_that_shadows_a_module_must_be_renamed(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(BESIDE)
    with pytest.raises(WorkloadError, match="rename the file"):
        load(f"{tmp_path / name}:mine")
