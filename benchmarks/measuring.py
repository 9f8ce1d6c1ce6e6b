"""How a cell becomes a record: asked first whether it can, then measured by its goal."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from tempfile import TemporaryDirectory

from benchmarks.assemble import Context, assemble, unmeasured
from benchmarks.cell import Cell
from benchmarks.engine import largest_batch, time_to_target
from benchmarks.engine.arm import Arm, ArmFault
from benchmarks.engine.experiment import BASELINE, CANDIDATE, Experiment, Plan
from benchmarks.engine.largest_batch import Attempts
from benchmarks.engine.launcher import LaunchError, Origin
from benchmarks.engine.time_to_target import TimeToTarget
from benchmarks.setting import Setting
from benchmarks.suite import Suite
from benchmarks.telemetry.telemetry import Telemetry
from results.record import Record
from workloads import CATALOG

WORTH_STARTING_S = 15.0  # less of the budget left than this, and no cell is begun


def measure_cell(suite: Suite, case: str, cell: Cell, starts: int | None = None) -> Record:
    """Measure one cell and put its record on the disk; `starts`: so many, whatever is usual.

    Raises:
        StoreError: the disk does not take the record.
    """
    return _kept(suite, _measured(suite, _context(suite, case, cell), starts))


def measure_between(
    suite: Suite,
    case: str,
    cell: Cell,
    origins: Mapping[str, Origin],
    starts: int | None = None,
) -> Record:
    """Measure a cell's setting in two environments: `origins` by arm, the setting in both.

    Raises:
        StoreError: the disk does not take the record.
    """
    context = _context(suite, case, replace(cell, baseline=cell.setting))
    usual = suite.options.plan_on(cell.device)
    starts = starts or usual.starts
    plan = replace(
        usual,
        starts=starts,
        first_step_s=usual.limit_s,
        limit_s=usual.limit_s * max(1.0, starts / usual.starts),
    )
    return _kept(suite, _experiment(suite, context, plan, origins))


def plan_of(cell: Cell, usual: Plan, left_s: float, starts: int | None = None) -> Plan:
    """How much of `cell` to measure within `left_s` seconds of the budget."""
    if cell.goal == time_to_target.GOAL:
        usual = replace(usual, starts=min(usual.starts, time_to_target.STARTS))
    patience_s = max(axis.first_step_s for axis in (*(cell.changed or cell.axes), *cell.on))
    first_step_s = max(usual.first_step_s, patience_s)
    return replace(
        usual,
        starts=starts or usual.starts,
        # a first step that compiles for minutes does so once, on top of the cell's time
        limit_s=min(usual.limit_s + first_step_s - usual.first_step_s, left_s),
        first_step_s=first_step_s,
    )


def _kept(suite: Suite, record: Record) -> Record:
    record = replace(record, at=datetime.now(UTC).isoformat(timespec="seconds"))
    suite.run.append(record)
    return record


def _context(suite: Suite, case: str, cell: Cell) -> Context:
    known = CATALOG.get(cell.workload)
    return Context(case, cell, suite.scale_of(cell), known.unit if known else "samples")


def _measured(suite: Suite, context: Context, starts: int | None) -> Record:
    cell = context.cell
    if reason := cell.impossible(suite.hardware) or suite.unprepared(cell):
        return unmeasured(context, "skipped", reason)
    if given_to_both(cell, suite.given_variables):
        return unmeasured(context, "skipped", "--steady-malloc gives it to both arms")
    left_s = suite.budget_left_s()
    if left_s < WORTH_STARTING_S:
        return unmeasured(context, "not_run", "the budget was spent; --budget gives more")
    plan = suite.options.plan_on(cell.device)
    if cell.goal == largest_batch.GOAL:
        return _largest_batch(suite, context, min(plan.limit_s, left_s))
    here = Origin(cell.workload)
    plan = plan_of(cell, plan, left_s, starts)
    return _experiment(suite, context, plan, {BASELINE: here, CANDIDATE: here})


def given_to_both(cell: Cell, given: tuple[tuple[str, str], ...]) -> bool:
    """Whether all variables that the candidate changes are `given` to every arm of the run."""
    changed = set(cell.setting.variables) ^ set(cell.baseline.variables)
    return bool(changed) and changed <= set(given)


def _experiment(
    suite: Suite, context: Context, plan: Plan, origins: Mapping[str, Origin]
) -> Record:
    cell = context.cell
    settings = {BASELINE: cell.baseline, CANDIDATE: cell.setting}

    def launch(arm: str, timeout_s: float) -> Arm:
        return suite.start_arm(origins[arm], context.scale, settings[arm], timeout_s, compiled)

    if cell.goal != time_to_target.GOAL:
        build: Callable[..., Experiment] = Experiment
    elif (target := time_to_target.target_of(cell.workload, context.scale)) is None:
        reason = f"{cell.label} has no target loss at scale {context.scale}"
        return unmeasured(context, "skipped", reason)
    else:
        build = partial(TimeToTarget, target=target)
    began = suite.clock()
    fault = None
    with Telemetry() as telemetry, own_kernels(cell) as compiled:
        experiment = build(plan, settings, launch, telemetry, suite.clock)
        try:
            experiment.run()
        except ArmFault as caught:
            fault = caught
        except LaunchError as error:
            fault = ArmFault("failed", str(error))
            suite.drop_launchers()
        record = assemble(
            context,
            experiment.measurement,
            {arm: telemetry.summary(arm) for arm in settings},
            telemetry.notes(),
            wall_s=suite.clock() - began,
            fault=fault,
        )
    return (
        time_to_target.complete(record, experiment)
        if isinstance(experiment, TimeToTarget)
        else record
    )


def _largest_batch(suite: Suite, context: Context, limit_s: float) -> Record:
    cell, record = context.cell, unmeasured(context, "ok", None)
    if reason := largest_batch.impossible(cell.device):
        return replace(record, outcome="skipped", reason=reason)
    limit_bytes = largest_batch.memory_limit(suite.hardware) if cell.device == "cpu" else None

    def launch(setting: Setting, timeout_s: float) -> Arm:
        return suite.start_arm(
            Origin(cell.workload), context.scale, setting, timeout_s, memory_bytes=limit_bytes
        )

    began = suite.clock()
    scale = CATALOG[cell.workload].scale(context.scale)
    attempts = Attempts(cell.setting, scale.batch, launch, limit_s, suite.clock)
    try:
        found = attempts.search()
    except ArmFault as fault:
        return replace(record, outcome=fault.outcome, reason=fault.reason, log=fault.log)
    except LaunchError as error:
        suite.drop_launchers()
        return replace(record, outcome="failed", reason=str(error))
    fields = largest_batch.fields(found, limit_bytes)
    return replace(record, **fields, wall_s=suite.clock() - began)


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
