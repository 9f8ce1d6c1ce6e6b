"""`python -m benchmarks calibrate`: which slowdowns can this machine show, how sure, how fast?

Exit code 0: the answer is kept, 1: too little was measured for one, 2: wrong use.
"""

import argparse
import shutil
import sys
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.calibrate.session import Session
from benchmarks.engine.experiment import BASELINE, CANDIDATE
from benchmarks.engine.launcher import Environment, Origin
from benchmarks.measuring import measure_between
from benchmarks.progress import result_line
from benchmarks.regress.gate import Gated, with_controls
from benchmarks.regress.plan import (
    CONFIRMING_STARTS,
    DEFAULT_WORKLOADS,
    SCREENING_STARTS,
    plan_words,
)
from benchmarks.regress.selection import device_of, selected
from benchmarks.selfcheck.bench import RUNS, opened
from benchmarks.suite import Suite
from results import calibration_table
from results.calibration import Calibration, keep, sentence
from results.gate import Rules
from results.machine import machine
from results.record import Record

BUDGET_ON_CPU, BUDGET_ON_ACCELERATOR = "45m", "90m"
FOLDER = RUNS / "calibrations"  # apart from the runs that a history follows
OLD = Environment(variables=(("TRAINING_BENCHMARKS_ARM", "old"),))  # a fork server of its own
SLOWED = Path(__file__).parents[1] / "calibrate" / "slowed.py"
TOO_LITTLE = 1


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--workload",
        default=DEFAULT_WORKLOADS,
        help=f"names in the catalog; the last gets the slowdowns (default: {DEFAULT_WORKLOADS})",
    )
    parser.add_argument("--device", help="default: the accelerator, else the CPU")
    parser.add_argument("--scale")
    parser.add_argument(
        "--gates", type=int, default=30, help="of unchanged code, on starts of their own (30)"
    )
    parser.add_argument(
        "--budget",
        help=f"begin no gate that would end later (default: {BUDGET_ON_CPU}, "
        f"on an accelerator {BUDGET_ON_ACCELERATOR})",
    )
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the tables there")


def run(arguments: argparse.Namespace) -> int:
    began = time.monotonic()
    device = device_of(arguments.device)
    words = plan_words(device) | {
        "workload": arguments.workload,
        "device": device,
        "starts": str(SCREENING_STARTS),
        "budget": arguments.budget or (BUDGET_ON_CPU if device == "cpu" else BUDGET_ON_ACCELERATOR),
        "runs": str(FOLDER),
    }
    if arguments.scale:
        words["scale"] = arguments.scale
    workloads = [name for name in arguments.workload.split(",") if name]
    gated = with_controls(selected(workloads, device, None))
    session = Session(gated, gated[-1], Rules(confirm_starts=CONFIRMING_STARTS), SCREENING_STARTS)
    with opened([each.cell for each in gated], **words) as suite:
        rounds = Rounds(suite)
        try:
            session.run(
                rounds.measure,
                rounds.begin,
                gates=arguments.gates,
                budget_s=suite.budget_left_s(),
                clock=time.monotonic,
            )
        except KeyboardInterrupt:
            print("stopped: what was measured so far counts", file=sys.stderr)
    if not session.outcomes or not session.spreads():
        print("too little was measured to say anything: --budget gives more", file=sys.stderr)
        return TOO_LITTLE
    found = answer(session, suite, device, time.monotonic() - began)
    path = keep(found, suite.options.cache)
    if arguments.markdown:
        arguments.markdown.write_text(calibration_table.markdown(found), encoding="utf-8")
    width = shutil.get_terminal_size((100, 24)).columns
    print(calibration_table.terminal(found, width, colour=sys.stdout.isatty()))
    print(f"{sentence(found)}\nkept in {path}, records in {suite.run.path}")
    return 0


class Rounds:
    """Measures for a session: live arms in two environments that differ in nothing."""

    def __init__(self, suite: Suite) -> None:
        self._suite = suite
        self._number = 0

    def begin(self, number: int) -> None:
        """Both environments start afresh, as for every gate of `regress`."""
        self._number = number
        self._suite.fresh_launchers([OLD, Environment()])

    def measure(self, each: Gated, starts: int | None, extra: float) -> Record:
        workload = each.cell.workload
        old, new = workload, workload
        name = f"{each.name}{' confirmed' if starts else ''}"
        if extra:
            old, new = f"{SLOWED}:{workload}_plus_0", f"{SLOWED}:{workload}_plus_{extra * 100:.0f}"
            name = f"{each.name} +{extra:.0%}"
        before = Origin(old, OLD)
        origins = {BASELINE: before, CANDIDATE: before if each.control else Origin(new)}
        record = measure_between(
            self._suite, f"gate {self._number + 1}: {name}", each.cell, origins, starts=starts
        )
        print(result_line(record), file=sys.stderr, flush=True)
        return replace(record, cell=each.name)


def answer(session: Session, suite: Suite, device: str, wall_s: float) -> Calibration:
    environment = suite.run.environment()
    rules = session.rules
    return Calibration(
        machine=environment["machine"],
        machine_words=machine(environment),
        device=device,
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        torch=environment["torch"],
        margin=rules.margin,
        family_error=rules.family_error,
        power=rules.power,
        screening_starts=SCREENING_STARTS,
        confirming_starts=CONFIRMING_STARTS,
        gates=len(session.outcomes),
        cells=sum(not each.control for each in session.gated),
        false_alarms=session.outcomes.count("regression"),
        inconclusive=session.outcomes.count("inconclusive"),
        gates_s=session.gates_s,
        wall_s=wall_s,
        detections=session.detections(),
        spreads=session.spreads(),
    )
