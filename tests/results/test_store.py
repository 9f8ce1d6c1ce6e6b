"""A run folder keeps what it was given, whatever happens to the process or the disk."""

import json
import logging
import subprocess
import sys
import textwrap
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from results.record import RecordError
from results.store import RunFolder, StoreError
from tests.results.examples import compared, laptop_run, record

NOON = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    return RunFolder.create(tmp_path / "runs", {"torch": "2.9.0"}, NOON)


def test_folder_is_named_by_the_utc_time(tmp_path: Path) -> None:
    east = NOON.astimezone(timezone(timedelta(hours=5)))
    assert RunFolder.create(tmp_path, {}, east).path.name == "2026-11-30T12-00-00Z"


def test_runs_of_one_second_get_folders_of_their_own(tmp_path: Path) -> None:
    paths = {RunFolder.create(tmp_path, {}, NOON).path for _ in range(3)}
    assert len(paths) == 3


def test_a_new_run_is_a_valid_empty_one(run: RunFolder) -> None:
    assert run.records() == []
    assert run.environment() == {"torch": "2.9.0"}


def test_records_come_back_in_order(run: RunFolder) -> None:
    for given in laptop_run():
        run.append(given)
    assert run.records() == laptop_run()


def test_the_last_record_of_a_cell_wins_in_the_first_ones_place(run: RunFolder) -> None:
    failed = record("amp_bf16", outcome="failed", reason="segfault")
    again = compared("amp_bf16", [1.1, 1.2])
    for given in (failed, record("workers2"), again):
        run.append(given)
    assert run.records() == [again, record("workers2")]


def test_a_line_torn_by_a_kill_costs_that_record_only(
    run: RunFolder, caplog: pytest.LogCaptureFixture
) -> None:
    run.append(record("workers2"))
    with run.records_path.open("a") as file:
        file.write(record("amp_bf16").to_json()[:100])
    with caplog.at_level(logging.WARNING):
        assert run.records() == [record("workers2")]
    assert "records.jsonl:2" in caplog.text

    run.append(record("ddp2"))  # the run is resumed
    assert run.records() == [record("workers2"), record("ddp2")]


def test_a_last_line_that_lacks_only_its_end_is_kept(run: RunFolder) -> None:
    run.records_path.write_text(record("workers2").to_json())
    run.append(record("ddp2"))
    assert run.records() == [record("workers2"), record("ddp2")]


def test_bytes_that_are_no_text_cost_that_line_only(run: RunFolder) -> None:
    run.append(record("workers2"))
    with run.records_path.open("ab") as file:
        file.write(b"\xff\x00\xfe\n")
    assert run.records() == [record("workers2")]


def test_a_file_without_any_record_is_an_error_in_one_line(run: RunFolder) -> None:
    run.records_path.write_text("<html>\n</html>\n")
    with pytest.raises(StoreError, match=r"records\.jsonl:1: not a record") as error:
        run.records()
    assert "\n" not in str(error.value)


def test_a_record_that_is_not_strict_json_leaves_the_file_as_it_was(run: RunFolder) -> None:
    run.append(record("workers2"))
    with pytest.raises(RecordError):
        run.append(record("ddp2", wall_s=float("nan")))
    assert run.records() == [record("workers2")]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_one_line(run: RunFolder) -> None:
    run.records_path.unlink()
    run.records_path.symlink_to("/dev/full")
    with pytest.raises(StoreError, match="No space left on device") as error:
        run.append(record("workers2"))
    assert "\n" not in str(error.value)
    assert "workers2" in str(error.value)


@pytest.mark.skipif(sys.platform == "win32", reason="needs RLIMIT_FSIZE")
def test_a_disk_that_takes_half_a_line_keeps_the_earlier_ones(run: RunFolder) -> None:
    run.append(record("workers2"))
    size = run.records_path.stat().st_size
    code = f"""
        import resource
        from pathlib import Path
        from results.store import RunFolder, StoreError
        from tests.results.examples import record
        resource.setrlimit(resource.RLIMIT_FSIZE, ({size + 100}, {size + 100}))
        try:
            RunFolder(Path({str(run.path)!r})).append(record("ddp2"))
        except StoreError as error:
            print(error)
    """
    said = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True
    )
    assert "File too large" in said.stdout
    assert run.records_path.stat().st_size == size
    assert run.records() == [record("workers2")]


def test_a_vanished_folder_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="No such file"):
        RunFolder(tmp_path / "gone").append(record())
    with pytest.raises(StoreError, match="No such file"):
        RunFolder(tmp_path / "gone").records()


def test_a_root_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot create a run"):
        RunFolder.create(tmp_path / "file" / "runs", {})


def test_latest_is_a_link_to_the_newest(run: RunFolder) -> None:
    root = run.path.parent
    second = RunFolder.create(root, {}, NOON + timedelta(seconds=1))
    assert (root / "latest").is_symlink()
    assert (root / "latest").readlink() == Path(second.path.name)  # still true after a move
    assert RunFolder.open("latest", root).path.samefile(second.path)
    assert RunFolder.open(root / "latest").path.samefile(second.path)


def test_latest_is_a_text_file_where_links_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError("a required privilege is not held by the client")

    monkeypatch.setattr(Path, "symlink_to", refuse)
    RunFolder.create(tmp_path, {}, NOON)
    second = RunFolder.create(tmp_path, {}, NOON)
    assert (tmp_path / "latest").read_text() == second.path.name + "\n"
    assert RunFolder.open("latest", tmp_path) == second
    assert RunFolder.open(tmp_path / "latest") == second
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "2026-11-30T12-00-00Z",
        "2026-11-30T12-00-00Z-2",
        "latest",
    ]


def test_without_its_pointer_the_newest_run_is_found_by_name(run: RunFolder) -> None:
    root = run.path.parent
    second = RunFolder.create(root, {}, NOON + timedelta(days=1))
    (root / "latest").unlink()
    assert RunFolder.open("latest", root) == second
    (root / "latest").symlink_to("deleted")
    assert RunFolder.open("latest", root) == second


def test_a_run_is_found_by_its_name_alone(run: RunFolder) -> None:
    assert RunFolder.open(run.path.name, run.path.parent) == run


def test_opening_what_is_no_run_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="nox -s bench"):
        RunFolder.open("latest", tmp_path)
    with pytest.raises(StoreError, match=r"has no records\.jsonl"):
        RunFolder.open(tmp_path)
    with pytest.raises(StoreError, match="no run at"):
        RunFolder.open(tmp_path / "typo")


def test_environment_is_strict_json(run: RunFolder) -> None:
    with pytest.raises(StoreError, match="not strict JSON"):
        run.write_environment({"load": float("nan")})
    with pytest.raises(StoreError, match="not strict JSON"):
        run.write_environment({"path": Path()})
    run.write_environment({"gpus": []})
    assert json.loads(run.environment_path.read_text()) == {"gpus": []}


def test_an_unreadable_environment_is_one_line_and_a_missing_one_is_empty(run: RunFolder) -> None:
    run.environment_path.write_text("{")
    with pytest.raises(StoreError, match=r"environment\.json"):
        run.environment()
    run.environment_path.unlink()
    assert run.environment() == {}
