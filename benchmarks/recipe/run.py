"""One workload's recipe: the ladder climbed through a suite, its winner measured and written."""

import re
import sys
from collections.abc import Callable
from itertools import count

from benchmarks.cell import Cell
from benchmarks.engine.experiment import CANDIDATE
from benchmarks.guards import PLAIN
from benchmarks.hardware import Glance
from benchmarks.measuring import measure_cell
from benchmarks.options import CACHE, Options
from benchmarks.progress import result_line
from benchmarks.recipe.candidates import everything, sort_out
from benchmarks.recipe.ladder import SCREEN, TOTAL, Trial, climb, named, setting_of
from benchmarks.recipe.script import Script
from benchmarks.setting import Setting
from benchmarks.suite import Suite
from results.recipe import Recipe
from results.record import Record
from workloads import CATALOG

SCREENING_STARTS = 2


def plain_cell(workload: str, device: str) -> Cell:
    return Cell(workload, PLAIN, baseline=Setting(device=device), device=device)


def cells_for(workload: str, device: str, glance: Glance) -> list[Cell]:
    """The plain cell, and those that want data of their own: a suite makes it when it opens."""
    baseline = Setting(device=device)
    return [
        plain_cell(workload, device),
        *(
            Cell(workload, (technique,), baseline=baseline, device=device)
            for technique in everything(device, glance)
            if "images" in technique.change
        ),
    ]


def find_recipe(
    suite: Suite, workload: str, device: str, glance: Glance, budget_s: float
) -> Recipe:
    """Climb, then measure the result against the plain setting; within `budget_s`, about."""
    plain = plain_cell(workload, device)
    scale = suite.scale_of(plain)
    known = CATALOG.get(workload)
    techniques, unfit = sort_out(
        everything(device, glance),
        device,
        suite.hardware.devices.get(device, 0),
        known.scale(scale).batch if known else None,
    )
    measure = measuring(suite, workload, device)
    began = suite.elapsed_s()
    climbed = climb(techniques, device, measure, lambda: (suite.elapsed_s() - began) / budget_s)
    total = measure(Trial(TOTAL, climbed.kept, ())) if climbed.kept else None
    return Recipe(
        workload=plain.label,
        scale=scale,
        device=device,
        rungs=tuple(climbed.rungs),
        left=(*climbed.left.values(), *unfit),
        total=total,
        confirmations=climbed.confirmations,
    )


def measuring(suite: Suite, workload: str, device: str) -> Callable[[Trial], Record]:
    """Trials as cells of the suite, numbered, each with a line on stderr when it ends."""
    numbers = count(1)
    usual = suite.options.plan_on(device).starts

    def measure(trial: Trial) -> Record:
        cell = Cell(
            workload,
            trial.move,
            baseline=setting_of(trial.base, device),
            device=device,
            on=trial.base,
        )
        case = f"recipe[{cell.label}-{device}-{next(numbers)}-{trial.stage}-{named(trial.move)}]"
        case = case.replace(" ", "")
        starts = min(SCREENING_STARTS, usual) if trial.stage == SCREEN else usual
        record = measure_cell(suite, case, cell, starts)
        print(result_line(record), file=sys.stderr, flush=True)
        return record

    return measure


def script_of(
    options: Options, workload: str, record: Record, cores: int, file: str
) -> Script | None:
    """The training loop of a record's candidate; None where it was not measured."""
    block = next((block for block in record.blocks if block["arm"] == CANDIDATE), None)
    if block is None or record.batch is None:
        return None
    setting = Setting.from_dict(record.setting)
    place = f"{record.workload} at scale {record.scale}, on {setting.device}"
    return Script(
        workload=workload,
        scale=record.scale,
        unit=record.unit,
        units_per_step=block["samples"] // block["steps"],
        batch=record.batch,
        setting=setting,
        source=source_text(options),
        threads=setting.threads or max(1, cores // setting.world_size),
        title=f"{place}: {record.technique}.",
        file=file,
    )


def source_text(options: Options) -> str:
    """Arguments of workloads.Source, as Python."""
    home = 'Path.home() / ".cache" / "training-acceleration-benchmarks"'
    parts = [home if options.cache == CACHE else f"Path({str(options.cache)!r})"]
    parts += [
        f"{name}=Path({str(given)!r})"
        for name in ("images", "text")
        if (given := getattr(options, name))
    ]
    return ", ".join(parts)


def script_name(label: str) -> str:
    return f"recipe_{re.sub(r'[^A-Za-z0-9_]+', '_', label)}.py"
