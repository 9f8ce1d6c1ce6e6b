"""The options of a run: read once, checked before anything is measured."""

import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.engine.experiment import ACCELERATOR_PLAN, CPU_PLAN, Plan
from workloads import CATALOG, SCALES

DEVICES = ("cpu", "cuda", "mps", "xpu")
TIERS = ("quick", "full")
CACHE = Path.home() / ".cache" / "training-acceleration-benchmarks"
UNITS_S = {"s": 1.0, "m": 60.0, "h": 3600.0}
ATTRIBUTE = ("none", "best", "all")
PROFILE = ("torch", "nsys")
QUICK_BUDGET_S = 430.0  # with start, attribution and tables, eight minutes
QUICK_BUDGET_ON_ACCELERATOR_S = 1200.0


class OptionError(ValueError):
    """An option that cannot be used; one line that names it and says what to do."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """None means: chosen by what the machine has."""

    workloads: tuple[str, ...]
    named: bool  # the user named the workloads
    devices: tuple[str, ...] | None
    scale: str | None
    tier: str | None
    budget_s: float | None
    plan: Mapping[str, float]  # what the user asked for; `plan_on` has the rest
    attribute: str
    profile: str | None
    images: Path | None
    text: Path | None
    cache: Path
    runs: Path
    resume: str | None
    steady_malloc: bool

    def plan_on(self, device: str) -> Plan:
        """How much to measure there, unless the user says otherwise."""
        return replace(CPU_PLAN if device == "cpu" else ACCELERATOR_PLAN, **self.plan)  # type: ignore[arg-type]

    def to_dict(self) -> dict[str, Any]:
        """As JSON for environment.json."""
        plain = asdict(self)
        return {
            name: str(value) if isinstance(value, Path) else value for name, value in plain.items()
        }


HELP: dict[str, dict[str, Any]] = {
    "--workload": {
        "action": "append",
        "help": "a name in the catalog or path/to/file.py:name; repeat or separate with commas "
        f"(default: {', '.join(CATALOG)})",
    },
    "--device": {
        "help": f"{', '.join(DEVICES)}; separate with commas (default: the accelerator, else cpu)"
    },
    "--scale": {"help": f"{', '.join(SCALES)} (default: by device; tiny on a CPU)"},
    "--tier": {
        "help": "quick: one change at a time, what a few minutes allow; full: every combination "
        "(default: quick, and full with -k or when cases or their files are named)"
    },
    "--budget": {
        "help": "end by then, as 90s, 5m or 1h; cells that no longer fit are recorded not_run "
        "(default: just under 8m for the quick tier on a CPU, 20m on an accelerator, else none)"
    },
    "--cell-limit": {
        "help": f"bound of one cell, as 90s or 5m (default: {CPU_PLAN.limit_s:.0f}s, "
        f"on an accelerator {ACCELERATOR_PLAN.limit_s:.0f}s); compiling comes on top"
    },
    "--starts": {
        "help": f"fresh starts of both arms per cell (default: {CPU_PLAN.starts}, "
        f"on an accelerator {ACCELERATOR_PLAN.starts})"
    },
    "--pairs": {
        "help": f"pairs of blocks per start (default: {CPU_PLAN.pairs}, "
        f"on an accelerator {ACCELERATOR_PLAN.pairs})"
    },
    "--block-seconds": {
        "help": f"length of a timed block (default: {CPU_PLAN.block_s}, on an accelerator "
        f"{ACCELERATOR_PLAN.block_s})"
    },
    "--steady-malloc": {
        "action": "store_true",
        "help": "fix the thresholds of glibc's malloc in both arms: on a CPU, heaps that settle "
        "differently from start to start are the largest part of the spread",
    },
    "--attribute": {
        "help": "where a step's time goes, in steps of its own: all cells, best (the plain and the "
        "best cell of each workload), or none (default; nox -s bench asks for best)"
    },
    "--profile": {
        "help": "torch: a trace per cell that Perfetto opens; nsys: a report of Nsight Systems"
    },
    "--images": {"help": "your own images: a folder with one folder per class (ImageFolder)"},
    "--text": {"help": "your own text file, read as bytes"},
    "--cache": {"help": f"where generated data is kept (default: {CACHE})"},
    "--runs": {"help": "where run folders go (default: results/runs)"},
    "--resume": {
        "help": "go on with this run (a folder, or latest): cells it holds are not measured again"
    },
}


def read(raw: Callable[[str], Any], default_runs: Path) -> Options:
    """Options from `raw("--name")`, what the command line said or None.

    Raises:
        OptionError: the first that is wrong.
    """
    named = _list(raw("--workload"))
    plan = {
        "starts": _count("--starts", raw("--starts")),
        "pairs": _count("--pairs", raw("--pairs")),
        "block_s": _positive("--block-seconds", raw("--block-seconds")),
        "limit_s": _duration("--cell-limit", raw("--cell-limit")),
    }
    return Options(
        workloads=tuple(_workload(name) for name in named) or tuple(CATALOG),
        named=bool(named),
        devices=tuple(_one_of("--device", name, DEVICES) for name in _list(raw("--device")))
        or None,
        scale=_one_of("--scale", raw("--scale"), SCALES) if raw("--scale") else None,
        tier=_one_of("--tier", raw("--tier"), TIERS) if raw("--tier") else None,
        budget_s=_duration("--budget", raw("--budget")),
        plan={name: value for name, value in plan.items() if value is not None},
        attribute=_one_of("--attribute", raw("--attribute") or ATTRIBUTE[0], ATTRIBUTE),
        profile=_profiler(raw("--profile")),
        images=_image_folder(raw("--images")),
        text=_readable_file("--text", raw("--text")),
        cache=Path(raw("--cache") or CACHE).expanduser().absolute(),
        runs=Path(raw("--runs") or default_runs).absolute(),
        resume=raw("--resume"),
        steady_malloc=bool(raw("--steady-malloc")),
    )


def _profiler(raw: str | None) -> str | None:
    if raw is None:
        return None
    if _one_of("--profile", raw, PROFILE) == "nsys" and not shutil.which("nsys"):
        raise OptionError(
            "--profile nsys: no nsys on the PATH; install Nsight Systems, or use torch"
        )
    return raw


def _list(raw: str | Sequence[str] | None) -> list[str]:
    parts = [raw] if isinstance(raw, str) else raw or []
    names = [name.strip() for part in parts for name in part.split(",") if name.strip()]
    return list(dict.fromkeys(names))  # two cells of one id could not be told apart


def _one_of(option: str, value: str, known: Sequence[str]) -> str:
    if value not in known:
        raise OptionError(f"{option} {value}: choose from {', '.join(known)}")
    return value


def _workload(reference: str) -> str:
    file, colon, name = reference.rpartition(":")
    if not colon:
        if reference not in CATALOG:
            raise OptionError(
                f"--workload {reference}: choose from {', '.join(CATALOG)}, "
                "or give your own as path/to/file.py:name"
            )
        return reference
    if not name.isidentifier():
        raise OptionError(f"--workload {reference}: after the colon goes the name of a Workload")
    return f"{_readable_file('--workload', file)}:{name}"


def _readable_file(option: str, raw: str | None) -> Path | None:
    if raw is None:
        return None
    path = Path(raw).expanduser().absolute()
    try:
        with path.open("rb") as file:
            if not file.read(1):
                raise OptionError(f"{option} {raw}: the file is empty")
    except OSError as error:
        raise OptionError(f"{option} {raw}: cannot be read ({error.strerror})") from error
    return path


def _image_folder(raw: str | None) -> Path | None:
    if raw is None:
        return None
    path = Path(raw).expanduser().absolute()
    try:
        classes = [entry for entry in path.iterdir() if entry.is_dir()]
    except OSError as error:
        raise OptionError(f"--images {raw}: cannot be read ({error.strerror})") from error
    if not classes:
        raise OptionError(f"--images {raw}: needs one folder of images per class, found none")
    return path


def _duration(option: str, raw: str | None) -> float | None:
    if raw is None:
        return None
    parts = re.findall(r"(\d+(?:\.\d+)?)([smh])", raw)
    seconds = sum(float(number) * UNITS_S[unit] for number, unit in parts)
    if "".join(number + unit for number, unit in parts) != raw or not 0 < seconds < float("inf"):
        raise OptionError(f"{option} {raw}: want a duration such as 90s, 5m or 1h30m")
    return seconds


def _count(option: str, raw: str | None) -> int | None:
    if raw is None:
        return None
    if not raw.isdecimal() or int(raw) < 1:
        raise OptionError(f"{option} {raw}: want a whole number from 1 up")
    return int(raw)


def _positive(option: str, raw: str | None) -> float | None:
    if raw is None:
        return None
    try:
        value = float(raw)
    except ValueError:
        value = -1.0
    if not 0 < value < float("inf"):
        raise OptionError(f"{option} {raw}: want a number of seconds above 0")
    return value
