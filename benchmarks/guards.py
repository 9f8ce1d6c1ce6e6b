"""Guards: a cell counts only if the technique took effect and training still works."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.cell import Cell
from benchmarks.engine.experiment import BASELINE, CANDIDATE
from benchmarks.setting import Setting
from benchmarks.techniques import FP32, SINGLE, Evidence, checks, workers

PLAIN = (workers(0), FP32, SINGLE)
OTHER_DEVICE_TOLERANCE = 0.05  # other kernels, and other random numbers in dropout
Guard = dict[str, Any]  # name, ok, detail: as in the record


def inspect(cell: Cell, evidence: Mapping[str, Sequence[Evidence]]) -> list[Guard]:
    """Every guard of a cell over all its starts; a guard that failed in one start failed."""
    guards: list[Guard] = []
    starts = zip(evidence[CANDIDATE], evidence[BASELINE], strict=True)
    for start, (candidate, baseline) in enumerate(starts):
        whole = start == 0
        guards += effects(cell.setting, candidate, whole=whole)
        guards += [
            {**guard, "name": f"baseline_{guard['name']}"}
            for guard in effects(cell.baseline, baseline, whole=whole)
        ]
        guards += losses_agree(candidate["losses"], baseline["losses"], loss_tolerance(cell))
    worst: dict[str, Guard] = {}
    for guard in guards:
        if guard["name"] not in worst or not guard["ok"]:
            worst[guard["name"]] = guard
    return list(worst.values())


def effects(setting: Setting, evidence: Evidence, *, whole: bool = True) -> list[Guard]:
    """Did every knob take effect, those that were to stay plain included?

    whole: everything was looked at. Of later starts some was not: checks that ask for it are
    left out there.
    """
    guards = []
    for name, check in checks().items():
        try:
            finding = check(setting, evidence)
        except KeyError:
            if whole:
                raise
            continue
        if finding:
            guards.append({"name": name, "ok": finding[0], "detail": finding[1]})
    return guards


def loss_tolerance(cell: Cell) -> float:
    tolerances = [axis.loss_tolerance for axis in cell.changed or cell.axes]
    if cell.device != cell.baseline.device:
        tolerances.append(OTHER_DEVICE_TOLERANCE)
    return max(tolerances)


def losses_agree(
    candidate: Sequence[float], baseline: Sequence[float], tolerance: float
) -> list[Guard]:
    """The first losses are finite, and their mean lies within `tolerance` of the baseline's."""
    finite = all(map(math.isfinite, candidate))
    guards = [{"name": "finite_losses", "ok": finite, "detail": f"{len(candidate)} first losses"}]
    length = min(len(candidate), len(baseline))
    if finite and length:
        ours = math.fsum(candidate[:length]) / length
        theirs = math.fsum(baseline[:length]) / length
        apart = abs(ours - theirs) / abs(theirs) if theirs else abs(ours)
        detail = f"mean of {length} first losses {ours:.4g}, baseline {theirs:.4g}"
        guards.append({"name": "parallel_losses", "ok": apart <= tolerance, "detail": detail})
    return guards
