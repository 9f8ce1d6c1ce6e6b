"""Where results live: one folder per run, one flushed line per record.

    <root>/2026-11-30T23-59-12Z/records.jsonl, environment.json, ...
    <root>/latest -> the newest run

A record is on the disk before the next cell starts, so whatever ends a run (Ctrl-C, a full
disk, a power cut) costs at most the cell that was running. Light: imports neither pandas nor
torch, since pytest's process writes through it.
"""

import json
import logging
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

from results.record import Record, RecordError

RUNS = Path(__file__).parent / "runs"
LATEST = "latest"

logger = logging.getLogger(__name__)


class StoreError(RuntimeError):
    """A run that cannot be read or written; the message is one line and says what to do."""


@dataclass(frozen=True)
class RunFolder:
    """One run on disk. Make one with `create`, find one with `open`."""

    path: Path

    @property
    def records_path(self) -> Path:
        return self.path / "records.jsonl"

    @property
    def environment_path(self) -> Path:
        return self.path / "environment.json"

    @property
    def benchmark_path(self) -> Path:
        """pytest-benchmark's JSON."""
        return self.path / "benchmark.json"

    @property
    def table_markdown_path(self) -> Path:
        return self.path / "table.md"

    @property
    def table_csv_path(self) -> Path:
        return self.path / "table.csv"

    @classmethod
    def create(
        cls, root: Path, environment: Mapping[str, Any], now: datetime | None = None
    ) -> "RunFolder":
        """A new, empty run below `root`, named by the UTC time, with `latest` pointing to it.

        `environment`: what the run is taken in, JSON values only. `now` must know its time zone.
        Raises StoreError where the folder cannot be written.
        """
        stamp = (now or datetime.now(UTC)).astimezone(UTC).strftime("%Y-%m-%dT%H-%M-%SZ")
        try:
            root.mkdir(parents=True, exist_ok=True)
            run = cls(_new_folder(root, stamp))
            run.records_path.touch()
            run.write_environment(environment)
            _point_latest(root, run.path.name)
        except OSError as error:
            raise StoreError(f"cannot create a run in {root}: {_cause(error)}") from error
        return run

    @classmethod
    def open(cls, path: Path | str = LATEST, root: Path | None = None) -> "RunFolder":
        """The run at `path`: a folder, the name of one below `root` (RUNS), or "latest".

        Raises StoreError where there is none.
        """
        root = RUNS if root is None else root
        if str(path) == LATEST:
            folder = _newest(root)
            if folder is None:
                raise StoreError(f"no runs in {root}: measure one with `nox -s bench`")
            return cls(folder)
        given = Path(path)
        for candidate in (given, root / given):
            folder = _follow(candidate)
            if (folder / "records.jsonl").is_file():
                return cls(folder)
        if given.is_dir():
            raise StoreError(f"{given} is not a run: it has no records.jsonl")
        raise StoreError(f"no run at {given}: name a folder with a records.jsonl")

    def append(self, record: Record) -> None:
        """Write one record as one line and wait until it is on the disk.

        Raises RecordError for a record that is not strict JSON, StoreError where the disk does
        not take the line; what was written before stays readable either way.
        """
        line = record.to_json().encode() + b"\n"
        try:
            _append_line(self.records_path, line)
        except OSError as error:
            raise StoreError(
                f"cannot write {record.cell} to {self.records_path}: {_cause(error)}"
            ) from error

    def records(self) -> list[Record]:
        """All records in the order their cells first ended; the last one of a cell wins.

        A line that cannot be read (the end of a run that was killed while writing) is logged as
        a warning and left out. Raises StoreError for a file where no line can be read.
        """
        try:
            lines = self.records_path.read_bytes().split(b"\n")
        except OSError as error:
            raise StoreError(f"cannot read {self.records_path}: {_cause(error)}") from error
        found: dict[str, Record] = {}
        problems = []
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                record = Record.from_json(line.decode())
            except (RecordError, UnicodeDecodeError) as error:
                problems.append(f"{self.records_path}:{number}: {error}")
            else:
                found[record.cell] = record
        if problems and not found:
            raise StoreError(problems[0])
        for problem in problems:
            logger.warning("%s (line left out)", problem)
        return list(found.values())

    def write_environment(self, environment: Mapping[str, Any]) -> None:
        """Replace environment.json. Raises StoreError for what strict JSON does not have."""
        try:
            text = json.dumps(environment, indent=2, allow_nan=False) + "\n"
        except (TypeError, ValueError) as error:
            raise StoreError(f"environment is not strict JSON: {error}") from None
        self.write_text(self.environment_path, text)

    def environment(self) -> dict[str, Any]:
        """What the run was taken in; empty for a run without environment.json.

        Raises StoreError for a file that is not a JSON object.
        """
        try:
            found = json.loads(self.environment_path.read_bytes())
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise StoreError(f"cannot read {self.environment_path}: {_cause(error)}") from error
        if not isinstance(found, dict):
            raise StoreError(f"cannot read {self.environment_path}: not a JSON object")
        return found

    def write_text(self, path: Path, text: str) -> None:
        """Replace one file of the run, whole or not at all. Raises StoreError."""
        try:
            _replace(path, text)
        except OSError as error:
            raise StoreError(f"cannot write {path}: {_cause(error)}") from error


def _new_folder(root: Path, stamp: str) -> Path:
    """A folder nobody else has: mkdir decides between two runs of one second."""
    for attempt in count(1):
        folder = root / (stamp if attempt == 1 else f"{stamp}-{attempt}")
        with suppress(FileExistsError):
            folder.mkdir()
            return folder
    raise AssertionError("count never ends")


def _append_line(path: Path, line: bytes) -> None:
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0))
    try:
        size = os.fstat(descriptor).st_size
        if size and not _ends_line(descriptor, size):
            line = b"\n" + line  # do not grow the torn line of a killed run
        try:
            rest = line
            while rest:
                rest = rest[os.write(descriptor, rest) :]
            os.fsync(descriptor)
        except OSError:
            with suppress(OSError):  # half a line is no use to anyone
                os.ftruncate(descriptor, size)
            raise
    finally:
        os.close(descriptor)


def _ends_line(descriptor: int, size: int) -> bool:
    os.lseek(descriptor, size - 1, os.SEEK_SET)
    return os.read(descriptor, 1) == b"\n"


def _replace(path: Path, text: str) -> None:
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with beside.open("w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def _point_latest(root: Path, name: str) -> None:
    """A symbolic link where the system allows one, else a text file holding the name."""
    beside = root / f".{LATEST}.{os.getpid()}"
    try:
        beside.unlink(missing_ok=True)
        beside.symlink_to(name, target_is_directory=True)
        beside.replace(root / LATEST)
    except OSError:
        beside.unlink(missing_ok=True)
        _replace(root / LATEST, name + "\n")


def _newest(root: Path) -> Path | None:
    pointed = _follow(root / LATEST)
    if (pointed / "records.jsonl").is_file():
        return pointed
    # The pointer is gone or dangling: names begin with the time, so the last one is the newest.
    return max((file.parent for file in root.glob("*/records.jsonl")), default=None)


def _follow(path: Path) -> Path:
    """Where a pointer leads; any other path as it is."""
    if path.is_symlink():
        return path.resolve()
    if path.name == LATEST and path.is_file():
        with suppress(OSError, UnicodeDecodeError):
            return path.parent / path.read_text(encoding="utf-8").strip()
    return path


def _cause(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error)
