"""`python -m benchmarks regress`: the gate.

Exit code 0: no regression, 1: regression, 2: wrong use, 3: inconclusive.
"""

import argparse
import shutil
import sys
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from benchmarks.closing import shown
from benchmarks.engine.experiment import BASELINE, CANDIDATE
from benchmarks.engine.launcher import Origin
from benchmarks.measuring import measure_between
from benchmarks.progress import result_line
from benchmarks.regress.gate import Gated, run_gate, with_controls
from benchmarks.regress.origins import from_python, from_revision
from benchmarks.regress.plan import (
    CONFIRMING_STARTS,
    DEFAULT_WORKLOADS,
    SCREENING_STARTS,
    plan_words,
)
from benchmarks.regress.selection import device_of, selected
from benchmarks.selfcheck.bench import RUNS, opened
from results import gate_table
from results.calibration import kept, sentence
from results.commands.percent import share
from results.gate import Result, Rules
from results.job_summary import append_job_summary
from results.record import Record
from results.store import StoreError

FOLDER = RUNS / "gates"  # apart from the runs that a history follows


def configure(parser: argparse.ArgumentParser) -> None:
    other = parser.add_mutually_exclusive_group(required=True)
    other.add_argument("--against", metavar="REV", help="a git revision of what is trained")
    other.add_argument("--against-python", metavar="PATH", help="another interpreter")
    parser.add_argument(
        "--margin", type=share, default=0.03, help="a slowdown that nobody minds (3%%)"
    )
    parser.add_argument(
        "--family-error", type=share, default=0.05, help="chance of any false alarm (5%%)"
    )
    parser.add_argument(
        "-k",
        "--cells",
        metavar="EXPRESSION",
        help="cells as pytest's -k selects them (default: the plain ones)",
    )
    parser.add_argument(
        "--workload",
        default=DEFAULT_WORKLOADS,
        help=f"names, or path/to/file.py:name (default: {DEFAULT_WORKLOADS})",
    )
    parser.add_argument("--device", help="default: the accelerator, else the CPU")
    parser.add_argument("--scale")
    parser.add_argument(
        "--starts",
        default=str(SCREENING_STARTS),
        help=f"of each cell in the screening (default: {SCREENING_STARTS})",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the verdict as JSON")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table as Markdown")


def run(arguments: argparse.Namespace) -> int:
    device = device_of(arguments.device)
    words = plan_words(device) | {"runs": str(FOLDER)}
    words |= {
        name: value
        for name in ("workload", "device", "scale", "starts")
        if (value := getattr(arguments, name))
    }
    rules = Rules(
        margin=arguments.margin,
        family_error=arguments.family_error,
        confirm_starts=CONFIRMING_STARTS,
    )
    workloads = list(dict.fromkeys(filter(None, arguments.workload.split(","))))
    gated = with_controls(selected(workloads, arguments.device, arguments.cells))
    with ExitStack() as stack:
        suite = stack.enter_context(opened([each.cell for each in gated], **words))
        old = {
            workload: stack.enter_context(from_revision(workload, arguments.against))
            if arguments.against
            else from_python(workload, arguments.against_python)
            for workload in workloads
        }

        def measure(each: Gated, stage: int) -> Record:
            new = Origin(each.cell.workload)
            before = old[each.cell.workload]
            record = measure_between(
                suite,
                each.name,
                each.cell,
                {BASELINE: before, CANDIDATE: before if each.control else new},
                starts=CONFIRMING_STARTS if stage else None,
            )
            print(
                ("confirming " if stage else "") + result_line(record), file=sys.stderr, flush=True
            )
            return record

        result = run_gate(gated, measure, rules)
        calibrated = kept(suite.options.cache, suite.run.environment()["machine"], device)
    result = replace(result, notes=(sentence(calibrated),))
    width = shutil.get_terminal_size((100, 24)).columns
    print(gate_table.terminal(result, width, colour=sys.stdout.isatty()))
    print(f"records: {shown(suite.run.path)}", file=sys.stderr)
    publish(result, arguments.markdown, arguments.json)
    return result.exit_code


def publish(result: Result, markdown: Path | None, json: Path | None) -> None:
    """To the job's page and the files asked for; one that takes nothing must not cost the verdict.

    It is said on stderr, and the exit code stays the gate's.
    """
    report = gate_table.markdown(result)
    try:
        append_job_summary(report)
        for path, text in ((markdown, report), (json, gate_table.as_json(result))):
            if path:
                path.write_text(text, encoding="utf-8")
    except (StoreError, OSError) as error:
        print(f"python -m benchmarks regress: {error}", file=sys.stderr)
