"""Which cells of a run are looked inside, and what their records gain by it."""

import re
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace

from benchmarks.cell import Cell
from benchmarks.engine.arm import Arm, ArmFault
from benchmarks.engine.launcher import Environment, FreshInterpreter, Origin
from benchmarks.inside import LIMIT_S, attribute, nsys_command, profile_by_nsys, profile_by_torch
from benchmarks.options import Options
from benchmarks.setting import Setting
from benchmarks.suite import Suite
from benchmarks.techniques import find
from results.advice import plain_and_best
from results.record import Record


def worth_a_look(options: Options, records: Sequence[Record]) -> list[Record]:
    """Which records `look_at` is for: `--attribute` says, `--profile` means all."""
    if options.attribute == "all" or options.profile is not None:
        return [r for r in records if r.outcome == "ok" and r.goal == "throughput"]
    return plain_and_best(records) if options.attribute == "best" else []


def look_at(suite: Suite, record: Record, cell: Cell) -> None:
    """Attribute and profile as the options ask, and put the record down once more.

    A look that fails costs the look alone: the record as measured stays.
    """
    options, seen = suite.options, record
    try:
        if options.attribute != "none":
            with closing(_start_alone(suite, cell, record.scale)) as arm:
                seen = attribute(arm, seen, suite.hardware, _offered(suite, record))
        if options.profile is not None:
            seen = _profiled(suite, seen, cell)
    except ArmFault as fault:
        seen = replace(seen, notes=[*seen.notes, f"no look inside: {fault.reason}"])
    suite.run.append(seen)


def _offered(suite: Suite, record: Record) -> Callable[[str], bool]:
    """Techniques that can run here and that this run did not find useless for the workload."""
    tried = {
        other.technique
        for other in suite.run.records()
        if (other.workload, other.goal) == (record.workload, record.goal)
        and other.verdict in ("slower", "same")
    }

    def offered(name: str) -> bool:
        technique = find(name, suite.hardware.usable_cores)
        if technique is None or name in tried:
            return False
        changed = technique.apply(Setting.from_dict(record.setting))
        return technique.needs(suite.hardware, changed) is None

    return offered


def _profiled(suite: Suite, record: Record, cell: Cell) -> Record:
    stem = suite.run.path / re.sub(r"[^\w.-]+", "_", record.cell)
    if suite.options.profile == "torch":
        with closing(_start_alone(suite, cell, record.scale)) as arm:
            return profile_by_torch(arm, record, stem.with_suffix(".trace.json"))
    if cell.device != "cuda":
        return replace(record, notes=[*record.notes, f"nsys profiles CUDA, not {cell.device}"])
    report = stem.with_suffix(".nsys-rep")
    launcher = FreshInterpreter(Environment(), nsys_command(report))
    with closing(_start_alone(suite, cell, record.scale, launcher)) as arm:
        return profile_by_nsys(arm, record, report)


def _start_alone(
    suite: Suite, cell: Cell, scale: str, launcher: FreshInterpreter | None = None
) -> Arm:
    origin = Origin(cell.workload)
    return suite.start_arm(origin, scale, cell.setting, LIMIT_S, launcher=launcher)
