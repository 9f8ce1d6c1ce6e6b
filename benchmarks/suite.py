"""A run: what is opened before the first cell, and how a cell becomes a record."""

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks import environment, hardware
from benchmarks.assemble import Context, assemble, unmeasured
from benchmarks.cell import Cell
from benchmarks.engine import largest_batch, time_to_target
from benchmarks.engine.arm import Arm, ArmFault
from benchmarks.engine.experiment import BASELINE, CANDIDATE, Experiment, Plan
from benchmarks.engine.largest_batch import Attempts
from benchmarks.engine.launcher import (
    Environment,
    FreshInterpreter,
    Launcher,
    LaunchError,
    Origin,
    launcher_for,
)
from benchmarks.engine.reaper import Reaper
from benchmarks.engine.time_to_target import TimeToTarget
from benchmarks.hardware import Hardware, HardwareError
from benchmarks.inside import LIMIT_S, attribute, nsys_command, profile_by_nsys, profile_by_torch
from benchmarks.options import (
    QUICK_BUDGET_ON_ACCELERATOR_S,
    QUICK_BUDGET_S,
    OptionError,
    Options,
)
from benchmarks.prepare import prepare
from benchmarks.setting import Setting
from benchmarks.techniques import find
from benchmarks.techniques.threads import STEADY_MALLOC
from benchmarks.telemetry.telemetry import Telemetry
from results.advice import plain_and_best
from results.record import Record
from results.store import RunFolder, StoreError
from workloads import CATALOG

SEED = 0
WORTH_STARTING_S = 15.0  # less of the budget left than this, and no cell is begun
FULL_SCALE_BYTES = 60 << 30  # both arms of a pair hold their model and activations at once


class Suite:
    """One run. `open` before `measure`; `close` whatever happened."""

    def __init__(
        self, options: Options, quick: bool, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.options = options
        self._quick = quick
        self._clock = clock
        self._began = clock()
        self._open = ExitStack()
        self._launchers: dict[Environment, Launcher] = {}
        self._unprepared: dict[tuple[str, str, str], str] = {}  # workload, scale, images: why
        self._reaper: Reaper
        self.hardware: Hardware
        self.run: RunFolder

    def open(self, cells: list[Cell]) -> None:
        """Probe the machine, make the data, create the run folder.

        Raises:
            OptionError, HardwareError, LaunchError, StoreError: one line each.
        """
        self._reaper = Reaper()
        self._open.callback(self._reaper.close)
        self._launcher_in(Environment())  # imports torch while the probe does
        self.hardware = hardware.probe_in_child()
        wanted = {
            (cell.workload, self.scale_of(cell), setting.images)
            for cell in filter(self._possible, cells)
            for setting in (cell.baseline, cell.setting)
        }
        for workload, scale, images in sorted(wanted):
            self._prepare_images(workload, scale, images)
        described = environment.describe(self.hardware, self._resolved(cells))
        if self.options.resume is None:
            self.run = RunFolder.create(self.options.runs, described)
        else:
            self.run = RunFolder.open(self.options.resume, self.options.runs)

    def prepare(self, origin: Origin, scale: str, images: str = Setting.images) -> None:
        """Make the data of a workload, where it comes from; raises OptionError."""
        job = self._job(origin.workload, scale, Setting(images=images))
        prepare(self._launcher_in(origin.environment), self._reaper, job)

    def _prepare_images(self, workload: str, scale: str, images: str) -> None:
        """What cannot be made beside the plain data costs the cells that want it, no others."""
        try:
            self.prepare(Origin(workload), scale, images)
        except OptionError as error:
            if images == Setting.images:
                raise
            self._unprepared[workload, scale, images] = str(error)

    def _launcher_in(self, environment: Environment) -> Launcher:
        if self.options.steady_malloc:
            variables = (*environment.variables, *STEADY_MALLOC)
            environment = replace(environment, variables=variables)
        if environment not in self._launchers:
            launcher = self._launchers[environment] = launcher_for(environment)
            self._open.callback(launcher.close)
        return self._launchers[environment]

    def fresh_launchers(self, environments: Sequence[Environment]) -> None:
        """New fork servers, all at once: starts from one server share its layout in memory."""
        for launcher in self._launchers.values():
            launcher.close()
        self._launchers.clear()
        for each in environments:
            self._launcher_in(each)

    def close(self) -> None:
        """End every process of this run. Idempotent."""
        self._open.close()

    @property
    def finished(self) -> set[str]:
        """Cases that a resumed run holds an answer for already."""
        return {record.cell for record in self.run.records() if record.outcome != "not_run"}

    def elapsed_s(self) -> float:
        return self._clock() - self._began

    def budget_left_s(self) -> float:
        return self._budget_s() - self.elapsed_s()

    def _budget_s(self) -> float:
        if self.options.budget_s is not None:
            return self.options.budget_s
        if not self._quick:
            return float("inf")
        on_cpu = self.hardware.accelerator is None
        return QUICK_BUDGET_S if on_cpu else QUICK_BUDGET_ON_ACCELERATOR_S

    def _resolved(self, cells: Sequence[Cell]) -> dict[str, Any]:
        """The options with what was chosen for the user."""
        budget_s = self._budget_s()
        return self.options.to_dict() | {
            "devices": sorted({cell.device for cell in cells}),
            "scale": ", ".join(sorted({self.scale_of(cell) for cell in cells})),
            "tier": "quick" if self._quick else "full",
            "budget_s": None if budget_s == float("inf") else budget_s,
        }

    def scale_of(self, cell: Cell) -> str:
        if self.options.scale:
            return self.options.scale
        return cell.scale or default_scale(self.hardware, cell.device)

    def measure(self, case: str, cell: Cell, starts: int | None = None) -> Record:
        """Measure one cell and put its record on the disk; `starts`: so many, whatever is usual.

        Raises:
            StoreError: the disk does not take the record.
        """
        return self._keep(self._measure(self._context(case, cell), starts))

    def measure_between(
        self, case: str, cell: Cell, origins: Mapping[str, Origin], starts: int | None = None
    ) -> Record:
        """Measure a cell's setting in two environments: `origins` by arm, the setting in both.

        Raises:
            StoreError: the disk does not take the record.
        """
        context = self._context(case, replace(cell, baseline=cell.setting))
        usual = self.options.plan_on(cell.device)
        plan = replace(usual, starts=starts or usual.starts, first_step_s=usual.limit_s)
        plan = replace(plan, limit_s=usual.limit_s * max(1.0, plan.starts / usual.starts))
        return self._keep(self._experiment(context, plan, origins))

    def _keep(self, record: Record) -> Record:
        record = replace(record, at=datetime.now(UTC).isoformat(timespec="seconds"))
        self.run.append(record)
        return record

    def worth_a_look(self, records: Sequence[Record]) -> list[Record]:
        """Which records `look_inside` is for: `--attribute` says, `--profile` means all."""
        if self.options.attribute == "all" or self.options.profile is not None:
            return [r for r in records if r.outcome == "ok" and r.goal == "throughput"]
        return plain_and_best(records) if self.options.attribute == "best" else []

    def look_inside(self, record: Record, cell: Cell) -> None:
        """Attribute and profile as the options ask, and put the record down once more.

        A look that fails costs the look alone: the record as measured stays.
        """
        options, seen = self.options, record
        try:
            if options.attribute != "none":
                with closing(self._start_alone(cell, record.scale)) as arm:
                    seen = attribute(arm, seen, self.hardware, self._offered(record))
            if options.profile is not None:
                seen = self._profile(seen, cell)
        except ArmFault as fault:
            seen = replace(seen, notes=[*seen.notes, f"no look inside: {fault.reason}"])
        self.run.append(seen)

    def _offered(self, record: Record) -> Callable[[str], bool]:
        """Techniques that can run here and that this run did not find useless for the workload."""
        tried = {
            other.technique
            for other in self.run.records()
            if (other.workload, other.goal) == (record.workload, record.goal)
            and other.verdict in ("slower", "same")
        }

        def offered(name: str) -> bool:
            technique = find(name, self.hardware.usable_cores)
            if technique is None or name in tried:
                return False
            changed = technique.apply(Setting.from_dict(record.setting))
            return technique.needs(self.hardware, changed) is None

        return offered

    def _profile(self, record: Record, cell: Cell) -> Record:
        stem = self.run.path / re.sub(r"[^\w.-]+", "_", record.cell)
        if self.options.profile == "torch":
            with closing(self._start_alone(cell, record.scale)) as arm:
                return profile_by_torch(arm, record, stem.with_suffix(".trace.json"))
        if cell.device != "cuda":
            return replace(record, notes=[*record.notes, f"nsys profiles CUDA, not {cell.device}"])
        report = stem.with_suffix(".nsys-rep")
        launcher = FreshInterpreter(Environment(), nsys_command(report))
        job = self._job(cell.workload, record.scale, cell.setting)
        with closing(Arm.start(launcher, self._reaper, job, LIMIT_S)) as arm:
            return profile_by_nsys(arm, record, report)

    def _start_alone(self, cell: Cell, scale: str) -> Arm:
        return self.start_arm(Origin(cell.workload), scale, cell.setting, LIMIT_S)

    def start_arm(
        self,
        origin: Origin,
        scale: str,
        setting: Setting,
        timeout_s: float,
        compiled: str | None = None,
        *,
        memory_bytes: int | None = None,
    ) -> Arm:
        """A training that is being built; raises ArmFault, see `Arm.start`.

        compiled: where torch.compile keeps its kernels; None: where it usually does.
        memory_bytes: of its own that each of its processes may have; None: no limit.
        """
        job = self._job(origin.workload, scale, setting)
        job |= {"compiled": compiled, "memory_bytes": memory_bytes}
        variables = (*origin.environment.variables, *setting.variables)
        launcher = self._launcher_in(replace(origin.environment, variables=variables))
        return Arm.start(launcher, self._reaper, job, timeout_s)

    def _measure(self, context: Context, starts: int | None = None) -> Record:
        cell = context.cell
        if reason := cell.impossible(self.hardware):
            return unmeasured(context, "skipped", reason)
        wanted = (cell.workload, context.scale, cell.setting.images)
        if reason := self._unprepared.get(wanted):
            return unmeasured(context, "skipped", reason)
        if cell.setting.variables and self._started_alike(cell):
            return unmeasured(context, "skipped", "--steady-malloc gives it to both arms")
        left_s = self.budget_left_s()
        if left_s < WORTH_STARTING_S:
            return unmeasured(context, "not_run", "the budget was spent; --budget gives more")
        plan = self.options.plan_on(cell.device)
        if cell.goal == largest_batch.GOAL:
            return self._largest_batch(context, min(plan.limit_s, left_s))
        patience_s = max(axis.first_step_s for axis in (*(cell.changed or cell.axes), *cell.on))
        fewest = min((axis.starts for axis in cell.changed if axis.starts), default=plan.starts)
        plan = replace(
            plan,
            starts=starts or min(plan.starts, fewest),
            # what is started rarely, since it starts slowly, has that once on top of its time
            limit_s=min(plan.limit_s + patience_s * (fewest < plan.starts), left_s),
            first_step_s=max(plan.first_step_s, patience_s),
        )
        if cell.goal == time_to_target.GOAL:
            plan = replace(plan, starts=min(plan.starts, time_to_target.STARTS))
        here = Origin(cell.workload)
        return self._experiment(context, plan, {BASELINE: here, CANDIDATE: here})

    def _experiment(self, context: Context, plan: Plan, origins: Mapping[str, Origin]) -> Record:
        cell = context.cell
        settings = {BASELINE: cell.baseline, CANDIDATE: cell.setting}

        def launch(arm: str, timeout_s: float) -> Arm:
            return self.start_arm(origins[arm], context.scale, settings[arm], timeout_s, compiled)

        if cell.goal != time_to_target.GOAL:
            build: Callable[..., Experiment] = Experiment
        elif (target := time_to_target.target_of(cell.workload, context.scale)) is None:
            reason = f"{cell.label} has no target loss at scale {context.scale}"
            return unmeasured(context, "skipped", reason)
        else:
            build = partial(TimeToTarget, target=target)
        began = self._clock()
        fault = None
        with Telemetry() as telemetry, own_kernels(cell) as compiled:
            experiment = build(plan, settings, launch, telemetry, self._clock)
            try:
                experiment.run()
            except ArmFault as caught:
                fault = caught
            except LaunchError as error:  # a fork server is gone: the next cell gets another
                fault = ArmFault("failed", str(error))
                self._launchers.clear()
            record = assemble(
                context,
                experiment.measurement,
                {arm: telemetry.summary(arm) for arm in settings},
                telemetry.notes(),
                wall_s=self._clock() - began,
                fault=fault,
            )
        return (
            time_to_target.complete(record, experiment)
            if isinstance(experiment, TimeToTarget)
            else record
        )

    def _started_alike(self, cell: Cell) -> bool:
        """Whether what the run gives to every arm is all that the candidate changes."""
        usual = set(STEADY_MALLOC if self.options.steady_malloc else ())
        return set(cell.setting.variables) - usual == set(cell.baseline.variables) - usual

    def _largest_batch(self, context: Context, limit_s: float) -> Record:
        cell, record = context.cell, unmeasured(context, "ok", None)
        if reason := largest_batch.impossible(cell.device):
            return replace(record, outcome="skipped", reason=reason)
        limit_bytes = largest_batch.memory_limit(self.hardware) if cell.device == "cpu" else None

        def launch(setting: Setting, timeout_s: float) -> Arm:
            return self.start_arm(
                Origin(cell.workload), context.scale, setting, timeout_s, memory_bytes=limit_bytes
            )

        began = self._clock()
        scale = CATALOG[cell.workload].scale(context.scale)
        attempts = Attempts(cell.setting, scale.batch, launch, limit_s, self._clock)
        try:
            found = attempts.search()
        except ArmFault as fault:
            return replace(record, outcome=fault.outcome, reason=fault.reason, log=fault.log)
        except LaunchError as error:
            self._launchers.clear()
            return replace(record, outcome="failed", reason=str(error))
        fields = largest_batch.fields(found, limit_bytes)
        return replace(record, **fields, wall_s=self._clock() - began)

    def _context(self, case: str, cell: Cell) -> Context:
        known = CATALOG.get(cell.workload)
        return Context(case, cell, self.scale_of(cell), known.unit if known else "samples")

    def _possible(self, cell: Cell) -> bool:
        return cell.impossible(self.hardware) is None

    def _job(self, workload: str, scale: str, setting: Setting) -> dict[str, Any]:
        """What an arm is to do: see `rank.py`."""
        options = self.options
        return {
            "workload": workload,
            "scale": scale,
            "setting": setting.to_dict(),
            "cache": str(options.cache),
            "images": str(options.images) if options.images else None,
            "text": str(options.text) if options.text else None,
            "cores": self.hardware.usable_cores,
            "seed": SEED,
            "warm_up_s": options.plan_on(setting.device).warm_up_s,
        }


@contextmanager
def own_kernels(cell: Cell) -> Iterator[str | None]:
    """A folder in which the first start of a cell about torch.compile finds no kernels.

    None for the others: what they cost to compile is not their question.
    """
    if cell.setting.compile in ("none", cell.baseline.compile):
        yield None
        return
    with TemporaryDirectory(prefix="compiled-", ignore_cleanup_errors=True) as folder:
        yield folder


def default_scale(machine: Hardware, device: str) -> str:
    """tiny on a CPU; on an accelerator full where two arms fit into its memory, else small."""
    if device == "cpu":
        return "tiny"
    memory = [gpu.memory_bytes or 0 for gpu in machine.gpus if gpu.device == device]
    return "full" if memory and min(memory) >= FULL_SCALE_BYTES else "small"


FAULTS_BEFORE_MEASURING = (OptionError, HardwareError, LaunchError, StoreError)
