"""`python -m benchmarks recipe`: the combination that pays here, found rung by rung.

Exit code 0: an answer was found, plain included; 2: wrong use.
"""

import argparse
import shutil
import sys

from benchmarks.closing import shown
from benchmarks.engine.arm import ArmFault
from benchmarks.hardware import glance
from benchmarks.options import HELP
from benchmarks.recipe.check import ScriptError, in_words, script_over_suite
from benchmarks.recipe.run import cells_for, find_recipe, script_name, script_of
from benchmarks.recipe.script import Script, write
from benchmarks.selfcheck.bench import opened
from benchmarks.suite import Suite
from results import recipe_table
from results.recipe import Recipe

DEFAULT_WORKLOADS = "resnet18,gpt2"
DEFAULT_BUDGET = "20m"
CHECK_ROUNDS = 6
FOR_CHECK = 0.1  # of the budget: the script against the suite's own training
SHARED = (
    "--scale",
    "--cell-limit",
    "--starts",
    "--pairs",
    "--block-seconds",
    "--images",
    "--text",
    "--cache",
    "--runs",
)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--workload",
        default=DEFAULT_WORKLOADS,
        help=f"names, or path/to/file.py:name (default: {DEFAULT_WORKLOADS})",
    )
    parser.add_argument("--device", help="default: the accelerator, else the CPU")
    parser.add_argument(
        "--budget",
        default=DEFAULT_BUDGET,
        help="end by then, as 90s, 5m or 1h, shared out evenly between the workloads; says what "
        f"was not tried for it (default: {DEFAULT_BUDGET})",
    )
    for name in SHARED:
        parser.add_argument(name, **HELP[name])


def run(arguments: argparse.Namespace) -> int:
    words = {name: value for name, value in vars(arguments).items() if value}
    seen = glance()
    accelerators = [name for name in ("cuda", "xpu", "mps") if seen.devices.get(name)]
    device = arguments.device or next(iter(accelerators), "cpu")
    workloads = [name for name in arguments.workload.split(",") if name]
    cells = [cell for workload in workloads for cell in cells_for(workload, device, seen)]
    reports = []
    with opened(cells, **words) as suite:
        for number, workload in enumerate(suite.options.workloads):
            share_s = suite.budget_left_s() / (len(suite.options.workloads) - number)
            found = find_recipe(suite, workload, device, seen, share_s * (1 - FOR_CHECK))
            path = suite.run.path / script_name(found.workload)
            cores = suite.hardware.usable_cores
            script = (
                script_of(suite.options, workload, found.total, cores, shown(path))
                if found.total
                else None
            )
            report = report_of(suite, found, script, share_s * FOR_CHECK)
            print(report[0], flush=True)
            reports.append(report[1])
            suite.run.write_text(suite.run.path / "recipe.md", "\n".join(reports))
        print(f"{shown(suite.run.path)}: recipe.md, records.jsonl and the scripts above")
    return 0


def report_of(
    suite: Suite, found: Recipe, script: Script | None, check_s: float
) -> tuple[str, str]:
    """For the screen, and as Markdown; writes the script and tries it."""
    width = shutil.get_terminal_size((100, 24)).columns
    screen = recipe_table.terminal(found, width, colour=sys.stdout.isatty())
    page = recipe_table.markdown(found)
    if script is None:
        return screen, page
    path = suite.run.path / script_name(found.workload)
    text = write(script)
    suite.run.write_text(path, text)
    checked = try_out(suite, script, check_s)
    return (
        f"{screen}\n{shown(path)}:\n\n{text}\n{checked}\n",
        f"{page}\n```python\n{text}```\n\n{checked}\n",
    )


def try_out(suite: Suite, script: Script, limit_s: float) -> str:
    """How fast the script trains beside the suite's own training, in a sentence."""
    path = suite.run.path / script_name(script.workload.rpartition(":")[2])
    until = suite.elapsed_s() + limit_s
    try:
        ratio = script_over_suite(
            suite, path, script, CHECK_ROUNDS, lambda: suite.elapsed_s() > until
        )
    except (ScriptError, ArmFault) as fault:
        return f"The script could not be tried: {fault}"
    return in_words(ratio) if ratio else "There was no time to try the script."
