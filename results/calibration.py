"""What a machine can tell, once measured: kept as JSON, quoted by its later runs."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from results.proportion import wilson
from results.store import StoreError

SCHEMA = 1


@dataclass(frozen=True, kw_only=True)
class Detection:
    """How often the gate caught a slowdown that was put into one of its cells."""

    extra_work: float  # share of a step's time; throughput falls to 1 / (1 + extra_work)
    measured_ratio: float  # of throughput, over all starts
    starts: int  # that were measured of it
    caught: int | None  # out of `gates` drawn from them; None: too few starts to draw one
    gates: int

    @property
    def share(self) -> float | None:
        return None if self.caught is None else self.caught / self.gates


@dataclass(frozen=True, kw_only=True)
class Spread:
    """Of one cell against itself."""

    cell: str
    starts: int
    sd: float  # of the starts' log ratios
    start_s: float  # seconds to launch and measure both arms once
    detectable: Mapping[str, float | None]  # smallest slowdown by number of starts, as text


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """The answer of `python -m benchmarks calibrate`. Shares, not percent."""

    machine: str  # environment.json's
    machine_words: str
    device: str
    at: str  # ISO 8601, UTC
    torch: str | None
    margin: float
    family_error: float
    power: float  # behind `Spread.detectable`
    screening_starts: int
    confirming_starts: int
    gates: int  # of unchanged code, each on starts of its own
    cells: int  # of a gate, controls not counted
    false_alarms: int
    inconclusive: int
    gates_s: float  # seconds for those gates
    wall_s: float
    detections: tuple[Detection, ...]
    spreads: tuple[Spread, ...]

    @property
    def false_alarm_interval(self) -> tuple[float, float]:
        """95%, by Wilson's score."""
        return wilson(self.false_alarms, self.gates)

    def to_json(self) -> str:
        low, high = self.false_alarm_interval
        content = {"schema": SCHEMA, **asdict(self), "false_alarm_interval": [low, high]}
        return json.dumps(content, indent=2, allow_nan=False) + "\n"

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """Raises TypeError, KeyError or ValueError for what is no calibration of this schema."""
        plain = dict(content)
        if plain.pop("schema") != SCHEMA:
            raise ValueError("another schema")
        plain.pop("false_alarm_interval", None)
        plain["detections"] = tuple(Detection(**each) for each in plain["detections"])
        plain["spreads"] = tuple(Spread(**each) for each in plain["spreads"])
        return cls(**plain)


def path_of(folder: Path, machine: str, device: str) -> Path:
    return folder / f"calibration-{machine}-{device}.json"


def keep(calibration: Calibration, folder: Path) -> Path:
    """Write it where `kept` finds it; raises StoreError where the disk does not take it."""
    path = path_of(folder, calibration.machine, calibration.device)
    beside = path.with_suffix(".new")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        beside.write_text(calibration.to_json(), encoding="utf-8")
        beside.replace(path)
    except OSError as error:
        raise StoreError(f"cannot keep {path}: {error.strerror or error}") from error
    return path


def kept(folder: Path, machine: str, device: str) -> Calibration | None:
    """This machine's calibration; None without one, or where it cannot be read any more."""
    try:
        content = json.loads(path_of(folder, machine, device).read_bytes())
        return Calibration.from_dict(content)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def sentence(found: Calibration | None) -> str:
    """What a later run says of the machine it ran on."""
    if found is None:
        return "Not calibrated: `nox -s calibrate` measures which slowdowns this machine can show."
    _, high = found.false_alarm_interval
    words = [
        f"{each.extra_work:.0%} of extra work is caught in {_in_ten(each.share)}"
        for each in found.detections
        if each.share is not None
    ]
    return (
        f"Calibrated on {found.at[:10]}: false alarms in {found.false_alarms} of {found.gates} "
        f"gates of unchanged code (at most {high:.0%}); "
        f"{', '.join(words) or 'too few starts to say what is caught'}."
    )


def _in_ten(share: float) -> str:
    """9 of 10 gates; what is seldom is not rounded to never, nor what is usual to always."""
    if share in (0, 1) or 0.05 <= share <= 0.95:
        return f"{share * 10:.0f} of 10 gates"
    return f"{share:.1%} of gates"
