"""Options are read once; a wrong one is named in one line before anything is measured."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.engine.experiment import Plan
from benchmarks.options import CACHE, DEVICES, HELP, OptionError, Options, read
from workloads import CATALOG


def options(**given: Any) -> Options:
    """As read from a command line that holds `given`: block_seconds="1" is --block-seconds 1."""
    raw = {f"--{name.replace('_', '-')}": value for name, value in given.items()}
    assert raw.keys() <= HELP.keys()
    return read(raw.get, Path("results/runs"))


def refused(**given: Any) -> str:
    with pytest.raises(OptionError) as caught:
        options(**given)
    line = str(caught.value)
    assert "\n" not in line
    return line


def test_every_option_has_a_help_and_is_read() -> None:
    asked: set[str] = set()
    read(asked.add, Path())
    assert asked == HELP.keys()
    assert all(details["help"] for details in HELP.values())


def test_without_options_the_machine_decides() -> None:
    chosen = options()
    assert chosen.workloads == tuple(CATALOG)
    assert not chosen.named
    assert chosen.plan_on("cpu") == Plan()
    assert chosen.cache == CACHE
    assert chosen.runs == Path("results/runs").absolute()
    undecided = (chosen.devices, chosen.scale, chosen.tier, chosen.budget_s, chosen.resume)
    assert undecided == (None,) * 5


def test_options_are_strict_json_for_the_environment() -> None:
    described = options(budget="5m", device="cpu", workload=["gpt2"]).to_dict()
    seen = json.loads(json.dumps(described, allow_nan=False))
    assert seen["budget_s"] == 300
    assert seen["plan"] == {}
    assert seen["workloads"] == ["gpt2"]


@pytest.mark.parametrize(
    "raw", [["gpt2", "resnet18"], ["gpt2,resnet18"], ["gpt2, resnet18,"], ["gpt2,gpt2", "resnet18"]]
)
def test_workloads_come_repeated_or_with_commas_and_count_once(raw: list[str]) -> None:
    chosen = options(workload=raw)
    assert chosen.workloads == ("gpt2", "resnet18")
    assert chosen.named


def test_a_users_own_workload_is_a_file_that_is_there(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("w = 1")
    assert options(workload=[f"{file}:w"]).workloads == (f"{file}:w",)


def test_a_users_own_workload_is_found_from_wherever_an_arm_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.py").write_text("w = 1")
    monkeypatch.chdir(tmp_path)
    assert options(workload=["mine.py:w"]).workloads == (f"{tmp_path / 'mine.py'}:w",)


def test_a_workload_that_is_not_known_is_refused_with_those_that_are() -> None:
    line = refused(workload=["resnet"])
    assert line.startswith("--workload resnet: choose from resnet18, ")
    assert "path/to/file.py:name" in line


def test_a_workload_file_must_be_there_and_name_what_is_in_it(tmp_path: Path) -> None:
    missing = f"{tmp_path}/none.py"
    assert refused(workload=[f"{missing}:w"]).startswith(f"--workload {missing}: cannot be read (")
    assert "the name of a Workload" in refused(workload=["mine.py:not a name"])


@pytest.mark.parametrize("device", DEVICES)
def test_each_device_can_be_asked_for(device: str) -> None:
    assert options(device=device).devices == (device,)


def test_devices_come_with_commas() -> None:
    assert options(device="cpu,cuda,cpu").devices == ("cpu", "cuda")


@pytest.mark.parametrize(
    ("option", "value"), [("device", "gpu"), ("scale", "huge"), ("tier", "slow")]
)
def test_a_choice_that_there_is_not_is_refused_with_those_that_there_are(
    option: str, value: str
) -> None:
    assert refused(**{option: value}).startswith(f"--{option} {value}: choose from ")


@pytest.mark.parametrize(
    ("raw", "seconds"), [("90s", 90), ("5m", 300), ("1h", 3600), ("1h30m", 5400), ("1.5m", 90)]
)
def test_durations(raw: str, seconds: float) -> None:
    assert options(budget=raw).budget_s == pytest.approx(seconds)
    assert options(cell_limit=raw).plan_on("cpu").limit_s == pytest.approx(seconds)


@pytest.mark.parametrize("raw", ["", "90", "5 m", "-5m", "0s", "m", "5x", "1e3s", "9" * 400 + "s"])
def test_what_is_no_duration_is_refused(raw: str) -> None:
    assert refused(budget=raw).endswith("want a duration such as 90s, 5m or 1h30m")


def test_the_plan_is_tuned_by_starts_pairs_and_block_seconds() -> None:
    plan = options(starts="8", pairs="2", block_seconds="0.25").plan_on("cuda")
    assert (plan.starts, plan.pairs, plan.block_s) == (8, 2, 0.25)


@pytest.mark.parametrize("option", ["starts", "pairs"])
@pytest.mark.parametrize("raw", ["0", "-1", "2.5", "many", "", "²"])
def test_a_count_is_a_whole_number_from_one_up(option: str, raw: str) -> None:
    assert refused(**{option: raw}) == f"--{option} {raw}: want a whole number from 1 up"


@pytest.mark.parametrize("raw", ["0", "-1", "nan", "inf", "long"])
def test_a_block_takes_some_time(raw: str) -> None:
    assert refused(block_seconds=raw) == (
        f"--block-seconds {raw}: want a number of seconds above 0"
    )


def test_text_is_a_file_with_something_in_it(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("to be")
    assert options(text=str(text)).text == text
    text.write_text("")
    assert refused(text=str(text)) == f"--text {text}: the file is empty"
    assert "cannot be read" in refused(text=str(tmp_path))


def test_images_are_a_folder_of_one_folder_per_class(tmp_path: Path) -> None:
    assert refused(images=str(tmp_path)).endswith(
        "needs one folder of images per class, found none"
    )
    (tmp_path / "cat").mkdir()
    assert options(images=str(tmp_path)).images == tmp_path
    assert "cannot be read" in refused(images=str(tmp_path / "none"))


def test_malloc_is_as_the_user_has_it_unless_held_steady() -> None:
    assert not options().steady_malloc
    assert options(steady_malloc=True).steady_malloc
