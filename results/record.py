"""The result of one cell: what a record holds, and its one line of strict JSON.

Light on purpose: the engine, pytest's process and every reader import it.
"""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from types import NoneType, UnionType
from typing import Any, NoReturn, TypedDict, get_args, get_origin, get_type_hints, is_typeddict

SCHEMA = 1

OUTCOMES = ("ok", "skipped", "out_of_memory", "failed", "timed_out", "invalid", "not_run")
VERDICTS = ("faster", "slower", "same", "unclear")
GOALS = ("throughput", "time_to_target", "largest_batch")  # what a record is about
MARGIN = 0.02  # "same" is within 1 ± this: a change that nobody who trains would act on


class RecordError(ValueError):
    """A record that cannot be written or read; the message is one line."""


class StepTimes(TypedDict):
    """Quantiles of single step times, in seconds."""

    median: float
    p10: float
    p90: float
    p99: float


class Guard(TypedDict):
    """One proof that a technique took effect, or that training still works."""

    name: str
    ok: bool
    detail: str


class Block(TypedDict):
    """Steps timed as one. `samples` counts all ranks; `arm` is "baseline" or "candidate"."""

    start: int
    pair: int
    arm: str
    steps: int
    samples: int
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Record:
    """One cell measured against its baseline. None means unknown; 0 means measured and zero.

    Names carry SI units. A field `baseline_x` is x of the baseline arm, measured in the same
    starts. Raises RecordError for an unknown outcome or verdict, and for an outcome other than
    "ok" without a reason.
    """

    # What was compared
    cell: str  # the case id, "test_matrix[resnet18-cpu-workers2-fp32-single]"
    workload: str
    scale: str
    unit: str  # what samples are: "images", "sequences", "tokens"
    setting: dict[str, Any]
    baseline: dict[str, Any]  # a setting too
    technique: str  # how the setting differs from the baseline: "control" where it does not,
    # "prefetch4 on workers2" where both have something besides the plain setting
    outcome: str  # one of OUTCOMES
    reason: str | None  # of every outcome but "ok"
    schema: int = SCHEMA
    at: str | None = None  # when the cell ended: ISO 8601, UTC

    # How the two compare: candidate's throughput / baseline's; or baseline's time to a target
    # loss / candidate's
    goal: str = "throughput"  # one of GOALS
    speedup: float | None = None
    speedup_low: float | None = None
    speedup_high: float | None = None  # alone where a cell ran out of time: "at most this"
    confidence: float = 0.95
    verdict: str | None = None  # one of VERDICTS
    detectable: float | None = None  # smallest |speed-up - 1| this interval could have shown
    log_ratios: list[float] = field(default_factory=list)  # natural log, one per start
    samples_per_s: float | None = None  # in `unit`, all ranks together
    baseline_samples_per_s: float | None = None
    scaling_efficiency: float | None = None  # speed-up / devices, 1.0 is linear
    step_s: StepTimes | None = None
    baseline_step_s: StepTimes | None = None

    # Time to a target loss
    target_loss: float | None = None  # smoothed training loss that both arms train to
    target_s: float | None = None  # seconds until then; median over starts
    baseline_target_s: float | None = None
    target_steps: float | None = None
    baseline_target_steps: float | None = None
    target_runs: list[dict[str, Any]] = field(default_factory=list)  # each training, by start

    # Largest batch
    attempts: list[dict[str, Any]] = field(default_factory=list)  # batch, outcome, ..., in order

    # How much was measured
    pairs: int = 0  # finished ones, over all starts
    starts: int = 0
    batch: int | None = None  # samples per device and step
    world_size: int | None = None  # ranks of the candidate

    # What starting costs
    cold_s: float | None = None  # first step; median over starts
    baseline_cold_s: float | None = None
    launch_s: float | None = None  # from asking for an arm to the end of its first step
    loader_start_s: float | None = None  # of it, to make the loader and start its workers
    first_batch_s: float | None = None  # of it, the wait for the first batch from then on
    break_even_steps: float | None = None  # steps until the faster steps repay the cold cost

    # What it takes
    peak_memory_bytes: int | None = None  # peak allocated, the fullest device of the arm
    baseline_peak_memory_bytes: int | None = None
    peak_reserved_bytes: int | None = None
    resident_bytes: int | None = None  # RAM of the arm's whole process tree
    gpu_utilization_pct: float | None = None
    baseline_gpu_utilization_pct: float | None = None
    gpu_memory_used_bytes: int | None = None
    gpu_power_w: float | None = None
    baseline_gpu_power_w: float | None = None
    energy_j_per_sample: float | None = None
    baseline_energy_j_per_sample: float | None = None
    cpu_utilization_pct: float | None = None  # of the process tree; 100 = one core
    baseline_cpu_utilization_pct: float | None = None

    # Where the time goes
    attribution: dict[str, Any] | None = None  # of the candidate: data_s, ..., in seconds a step
    flops_per_step: float | None = None  # forward and backward, all ranks together
    mfu: float | None = None  # 0 to 1, of the devices' dense peak for the dtype
    profile: dict[str, Any] | None = None  # trace (a file in the run's folder), steps, top
    diagnosis: str | None = None  # one sentence: what binds the candidate, what to try

    # Whether it may be believed
    losses: list[float] = field(default_factory=list)  # the candidate's first ones
    baseline_losses: list[float] = field(default_factory=list)
    guards: list[Guard] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # what a reader must know, as foreign load
    telemetry: dict[str, Any] = field(default_factory=dict)  # the rest, with reasons for nulls
    wall_s: float | None = None  # the cell's whole time
    timed_s: float | None = None  # of it inside timed blocks
    log: list[str] = field(default_factory=list)  # last lines that a failed rank said
    blocks: list[Block] = field(default_factory=list)

    @property
    def on(self) -> str:
        """What both have besides the plain setting, as in the technique; empty for nothing."""
        return self.technique.partition(" on ")[2]

    def __post_init__(self) -> None:
        if self.outcome not in OUTCOMES:
            self._refuse(f"outcome {self.outcome!r} is none of {', '.join(OUTCOMES)}")
        if self.verdict is not None and self.verdict not in VERDICTS:
            self._refuse(f"verdict {self.verdict!r} is none of {', '.join(VERDICTS)}")
        if self.goal not in GOALS:
            self._refuse(f"goal {self.goal!r} is none of {', '.join(GOALS)}")
        if self.outcome != "ok" and not self.reason:
            self._refuse(f"outcome {self.outcome} needs a reason")

    def to_json(self) -> str:
        """One line of strict JSON. Raises RecordError, naming the field, for NaN, infinity and
        values that JSON does not have."""
        plain = asdict(self)
        for path, value in _leaves(plain):
            if isinstance(value, float) and not math.isfinite(value):
                self._refuse(f"{path} is {value}, which JSON does not have; write None if unknown")
            if not isinstance(value, str | int | float | None):
                self._refuse(f"{path} is a {type(value).__name__}, which JSON does not have")
        return json.dumps(plain, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> "Record":
        """The record in one line of JSON. Keys this version does not know are ignored.

        Raises RecordError for text that is no record, and for one of another schema.
        """
        try:
            found = json.loads(text, parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            raise RecordError(f"not a record: {error}") from None
        if not isinstance(found, dict):
            raise RecordError(f"not a record: a JSON {type(found).__name__}, not an object")
        if found.get("schema") != SCHEMA:
            raise RecordError(
                f"schema {found.get('schema')!r}: this version reads schema {SCHEMA}, "
                "use the version of the suite that wrote it"
            )
        known = {name: found[name] for name in _hints() if name in found}
        for name, value in known.items():
            if not _fits(value, _hints()[name]):
                raise RecordError(f"not a record: {name} is {json.dumps(value)[:60]}")
        needed = [entry.name for entry in fields(cls)[:9] if entry.name not in known]
        if needed:
            raise RecordError(f"not a record: {', '.join(needed)} missing")
        return cls(**known)

    def _refuse(self, why: str) -> NoReturn:
        raise RecordError(f"record of {self.cell}: {why}")


@cache
def _hints() -> dict[str, Any]:
    return get_type_hints(Record)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not strict JSON")


def _leaves(value: object, path: str = "") -> Iterator[tuple[str, object]]:
    """Every value inside dicts and lists with the path that leads to it."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list | tuple):
        for position, inner in enumerate(value):
            yield from _leaves(inner, f"{path}[{position}]")
    else:
        yield path, value


def _fits(value: object, hint: Any) -> bool:  # noqa: PLR0911 (one return per kind of type)
    """Whether a value out of JSON is what the annotation promises."""
    origin = get_origin(hint)
    if origin is UnionType:
        return any(_fits(value, option) for option in get_args(hint))
    if origin is list:
        return isinstance(value, list) and all(_fits(item, get_args(hint)[0]) for item in value)
    if origin is dict:
        return isinstance(value, dict)
    if is_typeddict(hint):
        return isinstance(value, dict) and all(
            name in value and _fits(value[name], inner)
            for name, inner in get_type_hints(hint).items()
        )
    if hint is NoneType:
        return value is None
    if hint is bool:
        return isinstance(value, bool)
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, hint) and not isinstance(value, bool)
