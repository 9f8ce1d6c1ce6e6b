"""Time to a target loss: both settings train to the same loss, from one seed a start.

Faster steps are no gain where more of them are needed: a larger batch is judged by the seconds
until the loss is there (Shallue et al. 2019, Measuring the Effects of Data Parallelism). Both arms
of a start have its number as their seed, in an order swapped from start to start, and run one after
the other. The clock runs from the first step, in a process that has trained already, so
that neither arm is charged for waking up.
"""

import math
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from itertools import product
from statistics import median
from typing import Any, Protocol, cast

from benchmarks.cell import Cell
from benchmarks.engine.arm import ArmFault
from benchmarks.engine.experiment import (
    BASELINE,
    CANDIDATE,
    Experiment,
    Measurement,
    Observer,
    Plan,
    RunningArm,
    blaming,
    order_of,
)
from benchmarks.matrix import Scope
from benchmarks.setting import Setting
from benchmarks.techniques.batch_size import BATCHES, rates
from results.record import Record
from workloads import CATALOG

GOAL = "time_to_target"
STARTS = 4  # each is a whole training of both arms
WINDOW_STEPS = 8  # of the scale's own batch: the samples that the loss is smoothed over
LATEST = 4.0  # times the samples that the first baseline took: then the candidate is given up


@dataclass(frozen=True)
class Target:
    """loss: smoothed over `window` samples, in the workload's own unit of loss."""

    loss: float
    window: int


def target_of(workload: str, scale: str) -> Target | None:
    """The workload's own target at that scale; None where it has none."""
    known = CATALOG[workload].scales.get(scale) if workload in CATALOG else None
    if known is None or known.target_loss is None:
        return None
    return Target(known.target_loss, WINDOW_STEPS * known.batch)


def times_to_target(scope: Scope) -> list[Cell]:
    """Each batch with each rate that suits it, for the workloads that have a target."""
    return [
        Cell(
            workload=workload,
            axes=(batch, rate),
            baseline=Setting(device=device),
            device=device,
            quick=False,
            goal=GOAL,
        )
        for device, workload in product(scope.devices, scope.workloads)
        if workload in CATALOG and any(s.target_loss for s in CATALOG[workload].scales.values())
        for factor, batch in BATCHES.items()
        for rate in rates(factor)
    ]


@dataclass(frozen=True)
class Run:
    """One training to the target; seconds and steps until it was reached or given up."""

    start: int
    arm: str
    seed: int
    reached: bool
    seconds: float
    steps: int
    samples: int
    first_loss: float | None
    loss: float | None


@dataclass
class TargetMeasurement(Measurement):
    """As a Measurement; `runs` instead of blocks, both arms' of each finished start."""

    runs: list[Run] = field(default_factory=list)
    given_up: str | None = None

    @property
    def log_ratios(self) -> list[float]:
        """Of each start: log(baseline's seconds / candidate's)."""
        seconds = {(run.start, run.arm): run.seconds for run in self.runs}
        starts = sorted({run.start for run in self.runs})
        return [math.log(seconds[s, BASELINE] / seconds[s, CANDIDATE]) for s in starts]

    def of(self, arm: str) -> list[Run]:
        return [run for run in self.runs if run.arm == arm]


class TargetArm(RunningArm, Protocol):
    """An arm that carries out other orders too: see `arm.Arm`."""

    def look(self, order: dict[str, Any], timeout_s: float) -> dict[str, Any]: ...


class TimeToTarget(Experiment):
    """`run` fills `measurement`; starts, limits and faults are as in any experiment."""

    measurement: TargetMeasurement

    def __init__(
        self,
        plan: Plan,
        settings: Mapping[str, Setting],
        launch: Callable[[str, float], TargetArm],
        observer: Observer,
        clock: Callable[[], float],
        *,
        target: Target,
    ) -> None:
        super().__init__(plan, settings, launch, observer, clock)
        self.measurement = TargetMeasurement()
        self.target = target

    def _one_start(self, start: int) -> None:
        runs: dict[str, Run] = {}
        evidence: dict[str, dict[str, Any]] = {}
        for name in order_of(start):
            with ExitStack() as closing, blaming(name):
                arm = cast(TargetArm | None, self._open(name, start, closing))
                if arm is None:
                    return
                runs[name] = self._train(name, start, arm, self._latest(name, runs))
                evidence[name] = self._end(name, arm, start)
        self.measurement.runs += runs.values()
        for name, found in evidence.items():
            self.measurement.evidence[name].append(found)
        candidate = runs[CANDIDATE]
        if not candidate.reached:
            self.measurement.given_up = self.measurement.stopped = (
                f"start {start} did not reach {self.target.loss:g} in {candidate.steps} steps, "
                f"it ended at {'no number' if candidate.loss is None else f'{candidate.loss:.3g}'}"
            )

    def _is_decided(self) -> bool:
        return super()._is_decided() or self.measurement.given_up is not None

    def _latest(self, name: str, runs: Mapping[str, Run]) -> int | None:
        """Samples after which a candidate is given up; a baseline has until the cell ends."""
        if name == BASELINE:
            return None
        first = (self.measurement.of(BASELINE) or [runs[BASELINE]])[0]
        return round(LATEST * first.samples)

    def _train(self, name: str, start: int, arm: TargetArm, latest: int | None) -> Run:
        order = {
            "do": "train_to",
            "target": self.target.loss,
            "window": self.target.window,
            "seed": start,
            "limit_samples": latest,
        }
        opening = self.measurement.openings[name][-1]
        arm.resume()
        self._observer.run_begins(name)
        answer = arm.look(order, self._in_time(math.inf))["run"]
        arm.pause()
        self._observer.run_ends(name, answer["steps"] * opening.units_per_step)
        if name == BASELINE and not answer["reached"]:
            raise ArmFault("failed", "its loss is no longer a number")
        return Run(start=start, arm=name, seed=start, **answer)


def complete(record: Record, experiment: TimeToTarget) -> Record:
    """The record with what a comparison of times to a target says.

    A candidate that was given up is at most as fast as where it stood then: the reason says so.
    """
    measurement = experiment.measurement
    record = replace(
        record,
        target_loss=experiment.target.loss,
        target_runs=[asdict(run) for run in measurement.runs],
        timed_s=math.fsum(run.seconds for run in measurement.runs),
        starts=len(measurement.log_ratios),
        log_ratios=measurement.log_ratios,
        **_medians(measurement),
    )
    if record.outcome not in ("ok", "timed_out") or not measurement.runs:
        return record
    if measurement.given_up is not None:
        ended = measurement.of(CANDIDATE)[-1]
        mean = math.fsum(measurement.log_ratios) / len(measurement.log_ratios)
        return replace(
            record,
            outcome="timed_out",
            reason=measurement.given_up,
            notes=[note for note in record.notes if note != measurement.given_up],
            speedup_high=0.0 if ended.loss is None else math.exp(mean),
            verdict="slower",
        )
    from results.statistics import estimate, verdict  # scipy behind it: not while pytest collects

    found = estimate(measurement.log_ratios)
    return replace(
        record,
        speedup=found.speedup,
        speedup_low=found.low,
        speedup_high=found.high,
        detectable=found.detectable,
        verdict=verdict(found),
    )


def _medians(measurement: TargetMeasurement) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for arm, prefix in ((CANDIDATE, ""), (BASELINE, "baseline_")):
        if runs := measurement.of(arm):
            fields[f"{prefix}target_s"] = median(run.seconds for run in runs)
            fields[f"{prefix}target_steps"] = median(run.steps for run in runs)
    return fields
