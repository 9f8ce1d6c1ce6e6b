"""A printed training loop against the suite's own training under the same setting, in turns."""

import argparse
import sys

from benchmarks.cell import Cell
from benchmarks.engine.arm import ArmFault
from benchmarks.guards import PLAIN
from benchmarks.hardware import glance
from benchmarks.measuring import measure_cell
from benchmarks.options import OptionError
from benchmarks.recipe.candidates import everything, sort_out
from benchmarks.recipe.check import TOLERANCE, ScriptError, in_words, script_over_suite
from benchmarks.recipe.run import script_name, script_of
from benchmarks.recipe.script import write
from benchmarks.selfcheck.bench import opened
from benchmarks.setting import Setting
from benchmarks.techniques import Technique

HELP = f"the recipe's printed training loop over the suite's training: within {TOLERANCE:.0%}?"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--workload", default="resnet18")
    parser.add_argument("--device", default="cpu")
    parser.add_argument(
        "--techniques",
        default="",
        metavar="A,B,...",
        help="as `python -m benchmarks techniques` names them (default: the plain setting)",
    )
    parser.add_argument("--rounds", type=int, default=6, help="fresh starts of both (default: 6)")


def run(arguments: argparse.Namespace) -> int:
    chosen = named(arguments.techniques, arguments.device)
    baseline = Setting(device=arguments.device)
    cell = Cell(arguments.workload, chosen or PLAIN, baseline=baseline, device=arguments.device)
    with opened([cell], workload=arguments.workload, device=arguments.device) as suite:
        record = measure_cell(suite, f"script[{cell.id}]", cell, starts=1)
        file = script_name(cell.label)
        script = script_of(suite.options, cell.workload, record, suite.hardware.usable_cores, file)
        if script is None:
            print(f"{cell.id}: {record.outcome}, {record.reason}", file=sys.stderr)
            return 1
        path = suite.run.path / file
        suite.run.write_text(path, write(script))
        try:
            found = script_over_suite(suite, path, script, arguments.rounds, lambda: False)
        except (ScriptError, ArmFault) as fault:
            print(f"{cell.id}: {fault}", file=sys.stderr)
            return 1
    assert found is not None  # without a limit, every round is run
    print(f"{cell.technique}: {in_words(found)}")
    return 0 if abs(found.speedup - 1) <= TOLERANCE else 1


def named(names: str, device: str) -> tuple[Technique, ...]:
    """The ladder's techniques of these names, in this order; raises OptionError."""
    seen = glance()
    known, _ = sort_out(everything(device, seen), device, seen.devices.get(device, 0), None)
    by_name = {technique.name: technique for technique in known}
    wanted = [name for name in names.split(",") if name]
    for name in wanted:
        if name not in by_name:
            raise OptionError(f"--techniques {name}: choose from {', '.join(by_name)}")
    return tuple(by_name[name] for name in wanted)
