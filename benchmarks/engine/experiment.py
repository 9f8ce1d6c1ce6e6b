"""The paired experiment: which arm runs when, for how long, and when to stop.

Two arms are alive at once; one runs a short block of steps while the other is paused. Both are
started afresh, in swapped order, several times: the start is the unit of inference (Kalibera
and Jones 2013, repeat where the variance arises; Bulej et al. 2020, duet benchmarking).

Nothing here reads a clock or starts a process but through what is passed in.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Protocol

from benchmarks.engine.arm import CAN_PAUSE, ArmFault, Opening, TimedBlock
from benchmarks.setting import Setting

BASELINE, CANDIDATE = "baseline", "candidate"
HOPELESS = math.log(0.5)  # slower than this in every start, and more starts change no advice
WAKE_UP_S = 0.1  # a step as long as this does not notice that caches were cold at its start
OVERRUN = 1.25  # of a cell's limit: starts are begun only if they fit, and may still take longer
SHORTEST_S = 1.0  # patience that is left when a cell's time is over
HANGING = 0.1  # CPU seconds a second: an arm that does less while it is waited for is not just slow
PATIENCE = 10  # times the expected seconds until an arm counts as hanging, and as many seconds more


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How much to measure. limit_s bounds the cell, first_step_s the candidate's first step.

    Few pairs and many starts: most of the spread is between starts, and Student's factor for an
    interval falls from 3.2 at four starts to 2.8 at five.
    """

    starts: int = 5
    pairs: int = 2
    block_s: float = 1.0
    warm_up_s: float = 0.6
    first_step_s: float = 20.0
    limit_s: float = 90.0


CPU_PLAN = Plan()
# contexts and kernels take seconds to load, and NVML averages utilization over up to one
ACCELERATOR_PLAN = Plan(
    starts=4, pairs=4, block_s=1.0, warm_up_s=2.0, first_step_s=60.0, limit_s=180.0
)


@dataclass(frozen=True)
class Block:
    """A timed block and its place in the experiment."""

    start: int
    pair: int
    arm: str
    timed: TimedBlock

    @property
    def throughput(self) -> float:
        return self.timed.units / self.timed.seconds


@dataclass
class Measurement:
    """What an experiment saw so far; complete or not, it is what the record is made from.

    stopped: why there are fewer starts than planned, or None.
    bound: without a single pair, what the candidate's throughput stays under (units/s), or None.
    """

    blocks: list[Block] = field(default_factory=list)
    openings: dict[str, list[Opening]] = field(
        default_factory=lambda: {BASELINE: [], CANDIDATE: []}
    )
    evidence: dict[str, list[dict[str, Any]]] = field(
        default_factory=lambda: {BASELINE: [], CANDIDATE: []}
    )
    stopped: str | None = None
    bound: float | None = None

    @property
    def log_ratios(self) -> list[float]:
        """Of each start: the mean over its pairs of log(candidate / baseline throughput)."""
        starts = sorted({block.start for block in self.blocks})
        return [self._log_ratio([b for b in self.blocks if b.start == start]) for start in starts]

    @staticmethod
    def _log_ratio(blocks: Sequence[Block]) -> float:
        throughput = {(block.pair, block.arm): block.throughput for block in blocks}
        pairs = {block.pair for block in blocks}
        return math.fsum(
            math.log(throughput[pair, CANDIDATE] / throughput[pair, BASELINE]) for pair in pairs
        ) / len(pairs)


class RunningArm(Protocol):
    """What an experiment needs of an arm: see `arm.Arm`."""

    pid: int

    def first_step(self, timeout_s: float) -> Mapping[str, Any]: ...
    def warm(self, timeout_s: float) -> float: ...
    def run(self, drain: int, steps: int, blocks: int, timeout_s: float) -> list[TimedBlock]: ...
    def busy_s(self) -> float: ...
    def read_back(self, timeout_s: float, *, observe: bool = True) -> dict[str, Any]: ...
    def pause(self) -> None: ...
    def resume(self) -> None: ...
    def leave(self) -> None: ...
    def close(self) -> None: ...


class Observer(Protocol):
    """What is told when an arm runs: see `telemetry.Telemetry`."""

    def arm_started(self, arm: str, pid: int, gpus: Sequence[str]) -> None: ...
    def run_begins(self, arm: str) -> None: ...
    def run_ends(self, arm: str, samples: int) -> None: ...


def order_of(start: int) -> tuple[str, str]:
    """Who is launched and timed first: swapped from start to start."""
    return (BASELINE, CANDIDATE) if start % 2 == 0 else (CANDIDATE, BASELINE)


def schedule(start: int, pairs: int) -> list[tuple[str, list[int]]]:
    """ABBA, BAAB, ... as runs: an arm, and the pairs its blocks in a row belong to.

    >>> schedule(0, 2)
    [('baseline', [0]), ('candidate', [0, 1]), ('baseline', [1])]
    """
    first, second = order_of(start)
    blocks = [
        (arm, pair)
        for pair in range(pairs)
        for arm in ((first, second) if pair % 2 == 0 else (second, first))
    ]
    return [
        (arm, [pair for _, pair in run]) for arm, run in groupby(blocks, key=lambda block: block[0])
    ]


def steps_per_block(step_s: float, block_s: float) -> int:
    """The fewest that fill a block; rounding to nearest would give equal arms unequal blocks."""
    return max(1, math.ceil(block_s / step_s))


def pairs_worth(plan: Plan, pair_s: float) -> int:
    """The planned pairs; fewer, in whole ABBAs, where a pair takes more than twice its plan."""
    affordable = int(2 * plan.pairs * 2 * plan.block_s / pair_s)
    if affordable >= plan.pairs:
        return plan.pairs
    return max(1, affordable // 2 * 2)


def steps_to_drain(setting: Setting, step_s: float, can_pause: bool = CAN_PAUSE) -> int:
    """Untimed steps before the blocks of a run: what was prefetched meanwhile, and one to wake up.

    Loader workers stop with their arm: in a pause, each can at most be handed the item it was
    waiting for, and one batch may lie copied ahead. Where processes cannot be stopped, the loader
    fills up all it may hold. Caches fill again within milliseconds: a step that is long beside that
    needs no other before it.
    """
    handed_over = setting.num_workers + setting.copy_stream
    prefetched = handed_over if can_pause else setting.prefetched_batches
    return max(prefetched, 1 if step_s < WAKE_UP_S else 0)


class Experiment:
    """One cell's measurement. `run` fills `measurement`, which stays readable after a fault."""

    def __init__(
        self,
        plan: Plan,
        settings: Mapping[str, Setting],
        launch: Callable[[str, float], RunningArm],
        observer: Observer,
        clock: Callable[[], float],
    ) -> None:
        self.plan = plan
        self.settings = settings
        self.measurement = Measurement()
        self._launch = launch
        self._observer = observer
        self._clock = clock
        self._steps: dict[str, int] = {}
        self._deadline = math.inf

    def run(self) -> Measurement:
        """Measure up to `plan.starts` starts within `plan.limit_s`.

        Raises:
            ArmFault: an arm failed; what was measured before stays in `measurement`.
        """
        began = self._clock()
        self._deadline = began + OVERRUN * self.plan.limit_s
        longest_s = 0.0
        for start in range(self.plan.starts):
            start_began = self._clock()
            if start and start_began - began + longest_s > self.plan.limit_s:
                self.measurement.stopped = (
                    f"{start} of {self.plan.starts} starts fitted into {self.plan.limit_s:.0f} s"
                )
                break
            self._one_start(start)
            if self._is_decided():
                break
            longest_s = max(longest_s, self._clock() - start_began)
            if start + 1 < self.plan.starts and is_hopeless(self.measurement.log_ratios):
                self.measurement.stopped = (
                    f"less than half as fast in {start + 1} starts: more of them decide nothing"
                )
                break
        return self.measurement

    def _is_decided(self) -> bool:
        """Whether no further start is worth its time."""
        return self.measurement.bound is not None

    def _one_start(self, start: int) -> None:
        arms: dict[str, RunningArm] = {}
        with ExitStack() as closing:  # each arm is closed, whatever closing the other raises
            for name in order_of(start):
                with blaming(name):
                    arm = self._open(name, start, closing)
                if arm is None:
                    return
                arms[name] = arm
            self._run_pairs(start, arms)
            evidence = {name: self._end(name, arm, start) for name, arm in arms.items()}
        for name, found in evidence.items():  # of both arms or of none
            self.measurement.evidence[name].append(found)

    def _open(self, name: str, start: int, closing: ExitStack) -> RunningArm | None:
        """Launch, first step, warm-up, pause.

        None: the candidate's first step never ended, which is an answer.
        """
        began = self._clock()
        limit_s = self._first_step_limit(name)
        arm = self._launch(name, self._in_time(limit_s))
        closing.callback(arm.close)
        limit_s = self._in_time(limit_s)
        try:
            first = arm.first_step(limit_s)
        except ArmFault as fault:
            if name == CANDIDATE and start == 0 and self._bounds(fault, limit_s, arm.busy_s()):
                return None
            raise
        launch_s = self._clock() - began
        self._observer.arm_started(name, arm.pid, first["gpus"])
        cold_s = first["seconds"]
        step_s = arm.warm(self._in_time(PATIENCE * (1 + self.plan.warm_up_s + 2 * cold_s)))
        arm.pause()
        self.measurement.openings[name].append(
            Opening(
                launch_s=launch_s,
                cold_s=cold_s,
                step_s=step_s,
                units_per_step=first["units_per_step"],
                unit=first["unit"],
                batch=first["batch"],
                gpus=tuple(first["gpus"]),
            )
        )
        # kept from the first start on, so that all starts measure the same block
        self._steps.setdefault(name, steps_per_block(step_s, self.plan.block_s))
        return arm

    def _run_pairs(self, start: int, arms: Mapping[str, RunningArm]) -> None:
        openings = {name: self.measurement.openings[name][-1] for name in arms}
        pair_s = sum(self._steps[name] * openings[name].step_s for name in arms)
        seen: list[Block] = []
        for name, pairs in schedule(start, pairs_worth(self.plan, pair_s)):
            step_s = openings[name].step_s
            drain = steps_to_drain(self.settings[name], step_s)
            steps = drain + len(pairs) * self._steps[name]
            self._observer.run_begins(name)
            with blaming(name):
                arms[name].resume()
                patience_s = self._in_time(PATIENCE * (1 + steps * step_s))
                blocks = arms[name].run(drain, self._steps[name], len(pairs), patience_s)
                arms[name].pause()
            self._observer.run_ends(name, steps * openings[name].units_per_step)
            seen += [
                Block(start, pair, name, block) for pair, block in zip(pairs, blocks, strict=True)
            ]
        self.measurement.blocks += seen  # whole starts only

    def _first_step_limit(self, name: str) -> float:
        """Seconds. A baseline's may take as long as the cell; a candidate's is held against it."""
        if name == BASELINE:
            return self.plan.limit_s
        baseline = self.measurement.openings[BASELINE]
        usual_s = baseline[0].launch_s if baseline else 0.0
        return min(self.plan.limit_s, max(self.plan.first_step_s, PATIENCE * usual_s))

    def _in_time(self, patience_s: float) -> float:
        """That patience, but not beyond what the cell may take."""
        return min(patience_s, max(SHORTEST_S, self._deadline - self._clock()))

    def _bounds(self, fault: ArmFault, limit_s: float, busy_s: float) -> bool:
        """Whether a candidate's missing first step bounds its throughput; if so, notes by what."""
        if fault.outcome != "timed_out" or busy_s < HANGING * limit_s:
            return False  # it did nothing: hanging, not slow
        if self.settings[CANDIDATE].parallel == "dp":
            return False  # its batch is not known before it has reported
        baseline = self.measurement.openings[BASELINE][0]
        theirs, ours = self.settings[BASELINE], self.settings[CANDIDATE]
        batches = ours.data_parallel * ours.batch / (theirs.data_parallel * theirs.batch)
        self.measurement.bound = baseline.units_per_step * batches / limit_s
        self.measurement.stopped = (
            f"no first step within {limit_s:.0f} s; the baseline's took {baseline.cold_s:.2g} s"
        )
        return True

    def _end(self, name: str, arm: RunningArm, start: int) -> dict[str, Any]:
        """The arm's evidence, when it has done all its work."""
        with blaming(name):
            arm.resume()
            step_s = self.measurement.openings[name][-1].step_s
            patience_s = self._in_time(PATIENCE * (1 + step_s))
            # what a step runs is decided by setting and machine: one start's look is enough
            evidence = arm.read_back(patience_s, observe=start == 0)
            arm.leave()
        return evidence


def is_hopeless(log_ratios: Sequence[float]) -> bool:
    """Whether the candidate is surely slower, and by so much that nobody asks how much exactly."""
    if len(log_ratios) < 2 or max(log_ratios) >= HOPELESS:
        return False
    from results.statistics import estimate, verdict  # scipy: not while cells are collected

    return verdict(estimate(log_ratios)) == "slower"


@contextmanager
def blaming(name: str) -> Iterator[None]:
    """A cell is named after its candidate: a fault of the baseline says whose it is."""
    try:
        yield
    except ArmFault as fault:
        if name == BASELINE:
            raise ArmFault(fault.outcome, f"baseline: {fault.reason}", fault.log) from fault
        raise
