"""One number per cell out of every stored run, fast: a thousand runs of a hundred cells in seconds.

A record's line carries every block and loss; a history needs its first fields. They are written in
the order of the schema, so the line is cut behind them and only that is parsed. A line that does
not look as expected is read whole, by the record's own reader: the shortcut changes how long it
takes, never what comes out.
"""

import json
import logging
import math
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

from results.controls import measured
from results.identity import Identity, identity
from results.record import SCHEMA, Record, RecordError
from results.store import LATEST, RUNS, RunFolder, StoreError

logger = logging.getLogger(__name__)

NAMES = [field.name for field in fields(Record)]
LAST_NEEDED = "baseline_samples_per_s"
# Inside a JSON text a quote is escaped, so these bytes begin a field and nothing else.
CUT = f', "{NAMES[NAMES.index(LAST_NEEDED) + 1]}": '.encode()
IDENTITY_CUT = f', "{NAMES[NAMES.index("outcome")]}": '.encode()
DECODER = json.JSONDecoder()
END = b"]}"  # the last field, blocks, is a list: without its end the line is torn


AHEAD = 4  # files


class Point(NamedTuple):
    """What one run says of one cell. `samples_per_s` is None where it is unknown."""

    run: str  # the folder's name, which begins with its time
    position: int  # of the run among all
    speedup: float
    samples_per_s: float | None


class Cell(NamedTuple):
    """A cell on one machine: its speed-up elsewhere is another series."""

    identity: Identity
    machine: str


class Archive(NamedTuple):
    """All runs below a folder, oldest first, and every cell's measured points in that order."""

    runs: list[str]
    series: dict[Cell, list[Point]]


def read(root: Path | None = None) -> Archive:
    """The archive below `root` (RUNS). Lines and environments that cannot be read are left out
    with a warning. Raises StoreError for a folder without runs."""
    root = RUNS if root is None else root
    if not root.is_dir():
        raise StoreError(f"no folder {root}: name one that holds runs")
    folders = sorted(
        path
        for path in root.iterdir()
        if path.name != LATEST and (path / "records.jsonl").is_file()
    )
    if not folders:
        raise StoreError(f"no runs in {root}: measure one with `nox -s bench`")
    series: dict[Cell, list[Point]] = {}
    known: dict[bytes, Identity] = {}
    for position, (folder, content) in enumerate(_contents(folders)):
        machine = _machine(RunFolder(folder))
        for name, point in _points(folder, content, position, known):
            series.setdefault(Cell(name, machine), []).append(point)
    return Archive([folder.name for folder in folders], series)


def _contents(folders: Sequence[Path]) -> Iterator[tuple[Path, bytes]]:
    """Every run's records, read a few files ahead of the parser: a cold disk is half the time."""
    with ThreadPoolExecutor(1) as pool:
        ahead = [pool.submit(_read, folder) for folder in folders[:AHEAD]]
        for position, folder in enumerate(folders):
            content = ahead.pop(0).result()
            if position + AHEAD < len(folders):
                ahead.append(pool.submit(_read, folders[position + AHEAD]))
            yield folder, content


def _read(folder: Path) -> bytes:
    path = folder / "records.jsonl"
    try:
        return path.read_bytes()
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror or error}") from error


def _points(
    folder: Path, content: bytes, position: int, known: dict[bytes, Identity]
) -> list[tuple[Identity, Point]]:
    """The measured cells of one run; the last record of a cell wins, as in RunFolder.records."""
    run = folder.name
    found: dict[str, tuple[Identity, Point]] = {}
    for number, line in enumerate(content.split(b"\n"), start=1):
        if not line or line.isspace():
            continue
        try:
            name, speedup, rate = _quick(line, known) or _whole(line)
        except (RecordError, UnicodeDecodeError) as error:
            logger.warning("%s/records.jsonl:%d: %s (line left out)", folder, number, error)
            continue
        found.pop(name.cell, None)
        if speedup is not None and speedup > 0:
            found[name.cell] = name, Point(run, position, speedup, rate)
    return list(found.values())


def _quick(
    line: bytes, known: dict[bytes, Identity]
) -> tuple[Identity, float | None, float | None] | None:
    """From the head of a line; None where it is not laid out as this version writes it."""
    end, middle = line.find(CUT), line.find(IDENTITY_CUT)
    if end < 0 or not 0 < middle < end or not line.endswith(END):
        return None
    prefix = line[:middle]
    try:
        name = known.get(prefix)
        if name is None:
            head = json.loads(prefix + b"}")
            name = known[prefix] = _identity(head)
        rest = DECODER.decode("{" + line[middle + 2 : end].decode() + "}")
    except (ValueError, KeyError, TypeError):
        return None
    speedup, rate = rest.get("speedup"), rest.get("samples_per_s")
    if rest.get("schema") != SCHEMA or not _known(speedup) or not _known(rate):
        return None
    usable = rest.get("outcome") in ("ok", "timed_out")  # as controls.measured
    return name, speedup if usable else None, rate


def _known(value: Any) -> bool:
    """A finite number, or None for unknown."""
    return value is None or (type(value) in (int, float) and math.isfinite(value))


def _identity(head: dict[str, Any]) -> Identity:
    """As `identity`, of the fields before the outcome. Raises KeyError, TypeError, RecordError."""
    return identity(Record(**head, outcome="not_run", reason="only a name"))


def _whole(line: bytes) -> tuple[Identity, float | None, float | None]:
    record = Record.from_json(line.decode())
    return identity(record), record.speedup if measured(record) else None, record.samples_per_s


def _machine(run: RunFolder) -> str:
    try:
        return str(run.environment().get("machine") or "unknown")
    except StoreError as error:
        logger.warning("%s", error)
        return "unknown"
