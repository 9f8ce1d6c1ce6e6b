"""Does a printed training loop train as fast as the suite said? Both run afresh, each round."""

import math
import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from benchmarks.engine.arm import ArmFault
from benchmarks.engine.experiment import RunningArm
from benchmarks.engine.launcher import ROOT, Origin
from benchmarks.recipe.script import Script
from benchmarks.suite import Suite
from results.statistics import Estimate, estimate

RUN_S = 6.0  # of training, for each of the two in each round
PATIENCE_S = 300.0
TOLERANCE = 0.1  # how far from the suite's throughput the script's may lie
STEPS_PER_S = re.compile(r"^([\d.e+-]+) steps/s", re.MULTILINE)


class ScriptError(Exception):
    """The script did not run; one line that says why."""


def run_script(path: Path, script: Script, steps: int, timeout_s: float = PATIENCE_S) -> str:
    """What it prints. Raises ScriptError."""
    launch = [sys.executable]
    if script.distributed:
        ranks = str(script.setting.world_size)
        launch += ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", ranks]
    try:
        done = subprocess.run(
            [*launch, str(path.absolute()), str(steps)],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ScriptError(f"{path.name} did not end within {timeout_s:.0f} s") from None
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.strip()] or ["it said nothing"]
        raise ScriptError(f"{path.name} ended with {done.returncode}: {said[-1]}")
    return done.stdout


def script_over_suite(
    suite: Suite, path: Path, script: Script, rounds: int, spent: Callable[[], bool]
) -> Estimate | None:
    """The script's steps a second over the suite's; None where not one round fitted.

    Raises:
        ScriptError, ArmFault: one of the two does not train.
    """
    ratios: list[float] = []
    for number in range(rounds):
        if number and spent():
            break
        origin = Origin(script.workload)
        arm = suite.start_arm(origin, script.scale, script.setting, PATIENCE_S)
        with closing(arm):
            ratios.append(math.log(_script_between_halves(arm, path, script)))
    return estimate(ratios) if ratios else None


def _script_between_halves(arm: RunningArm, path: Path, script: Script) -> float:
    """The script's steps a second over an arm's, which trains half before the script, half after.

    A machine that gets faster or slower meanwhile favours neither. The arm is stopped while the
    script runs, as beside the other arm of an experiment.
    """
    arm.first_step(PATIENCE_S)
    half = max(1, round(RUN_S / 2 / arm.warm(PATIENCE_S)))
    drain = script.setting.prefetched_batches
    before = arm.run(drain, half, 1, PATIENCE_S)
    arm.pause()
    try:
        said = run_script(path, script, 2 * half)
    finally:
        arm.resume()
    blocks = [*before, *arm.run(drain, half, 1, PATIENCE_S)]
    found = STEPS_PER_S.search(said)
    if not found:
        raise ScriptError(f"{path.name} printed no steps/s: {said[-80:]!r}")
    theirs = sum(block.steps for block in blocks) / sum(block.seconds for block in blocks)
    return float(found[1]) / theirs


def in_words(found: Estimate) -> str:
    """One sentence."""
    spread = ""
    if found.low is not None and found.high is not None:
        spread = f" ({found.low:.2f}–{found.high:.2f})"
    return (
        f"The script trains {found.speedup:.2f}×{spread} as fast as the suite's own training under "
        "the same setting, the two run in turns."
    )


__all__ = ["ArmFault", "ScriptError", "in_words", "run_script", "script_over_suite"]
