"""Did this revision slow training down? From the starts of both stages to one exit code.

Every cell runs the same setting in two environments: the old one is the baseline, the new one the
candidate. All cells are screened; those that look slower are measured again, on fresh starts, and
only these decide:

    evidence = [...]                         # screened cells and controls
    names = to_confirm(evidence, rules)      # measure these again
    result = judge(evidence with confirmation, rules)

Why the chance of any false alarm stays below `family_error`, however many cells there are. Call a
cell innocent if its throughput fell by at most the margin. Screening picks a set F of cells, by
whatever rule. Given F, the confirming starts are fresh, so their p-values are still valid: for an
innocent cell, P(p <= x | F) <= x. Holm's procedure over the cells of F then rejects any innocent
one with a probability of at most family_error, given F; and what holds for every F holds on
average over them. So screening cannot add false alarms, it can only lose power, which is why its
own level may be liberal (a cell in five) and why its starts must not be used a second time. The
argument assumes independent, roughly normal log ratios of starts; the controls and the
simulations in the tests are there because real machines only come close.

Controls run the old environment against itself. One that differs says that the machine (or the
harness) prefers an arm, and then no ratio of this run means anything: inconclusive. A control is
judged in the stage that decides: on its confirming starts once there are any.
"""

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from results import holm, slowdown, unchanged
from results.statistics import Estimate, estimate, verdict
from results.unchanged import Check

# A control cannot regress: it "differs", or it is one of the middle two.
VERDICTS = ("regressed", "improved", "same", "unclear", "differs", "not measured")
OUTCOMES = ("no regression", "regression", "inconclusive")
EXIT_CODES = {"no regression": 0, "regression": 1, "inconclusive": 3}  # 2 is wrong use


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What counts as a regression, and how often the gate may be wrong. Shares, not percent."""

    margin: float = 0.03  # a fall in throughput that nobody minds
    family_error: float = 0.05  # chance of any false alarm in a run, over all its cells
    screen_error: float = 0.2  # per cell; costs time, not false alarms
    power: float = 0.8  # of the smallest slowdown that is said to have been visible
    confirm_starts: int | None = None  # those a flagged cell gets; None: as many as in screening
    memory_tolerance: float = 0.01  # of peak allocated memory, which repeats almost exactly
    resident_tolerance: float = 0.15  # of a process's memory, which does not
    loss_tolerance: float = 0.02  # relative; the rest is the order of additions

    def __post_init__(self) -> None:
        for name in ("family_error", "screen_error", "power"):
            if not 0 < getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}, must lie between 0 and 1")
        for name in ("margin", "memory_tolerance", "resident_tolerance", "loss_tolerance"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}, must be in [0, 1)")


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What was measured of one cell. Log ratios: natural log of new / old throughput, per start."""

    cell: str
    screening: Sequence[float] = ()
    confirmation: Sequence[float] = ()  # fresh starts, empty until measured
    control: bool = False  # the old environment against itself
    peak_memory_bytes: int | None = None
    old_peak_memory_bytes: int | None = None
    resident_memory: bool = False  # the two are resident, not allocated memory
    losses: Sequence[float] = ()
    old_losses: Sequence[float] = ()
    broken: str | None = None  # why the new environment cannot run what the old one can
    unmeasured: str | None = None  # why there are no ratios, where that is not the new one's fault

    @property
    def deciding(self) -> Sequence[float]:
        return self.confirmation or self.screening


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What the gate says of one cell. Ratios are of throughput, new / old."""

    cell: str
    control: bool
    verdict: str  # of the time alone: one of VERDICTS
    ratio: float | None  # and its 95% interval
    low: float | None
    high: float | None
    p: float | None  # adjusted for the number of cells; of "slower", for a control "different"
    starts: int
    confirmed: bool  # decided by fresh starts
    detectable: float | None  # smallest slowdown that the gate would have found, with Rules.power
    memory: Check
    losses: Check
    problems: tuple[str, ...]  # what makes this cell fail the gate, one line each


@dataclass(frozen=True, kw_only=True)
class Result:
    """The gate's answer. `reasons` says in whole lines why it is what it is."""

    outcome: str  # one of OUTCOMES
    findings: tuple[Finding, ...]
    rules: Rules
    reasons: tuple[str, ...] = field(default=())
    notes: tuple[str, ...] = field(default=())  # what a reader must know of the machine

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.outcome]


def to_confirm(evidence: Sequence[Evidence], rules: Rules) -> list[str]:
    """Names of the cells to measure again on fresh starts, in the order given.

    The cells that look slower, each at `screen_error` (with a single start: by its ratio alone).
    The controls come along as soon as there is anything to confirm, since they must vouch for the
    starts that decide, and are confirmed themselves where they differ.
    """
    flagged = {each.cell for each in evidence if not each.control and _suspected(each, rules)}
    controls = [each for each in evidence if each.control]
    again = flagged or any(
        _differs(each, _control_ps(controls).get(each.cell), rules) for each in controls
    )
    return [each.cell for each in evidence if each.cell in flagged or (again and each.control)]


def judge(evidence: Sequence[Evidence], rules: Rules) -> Result:
    """Verdicts and outcome of all cells and controls of one run.

    Raises ValueError for two cells of one name.
    """
    names = [each.cell for each in evidence]
    if len(set(names)) < len(names):
        raise ValueError("two cells of one name: a gate cannot tell them apart")
    cells = [each for each in evidence if not each.control]
    controls = [each for each in evidence if each.control]
    slower = _adjusted(cells, lambda each: slowdown.p_slower(each.confirmation, rules.margin))
    faster = _adjusted(cells, lambda each: slowdown.p_faster(each.deciding, rules.margin))
    differ = _control_ps(controls)
    findings = tuple(
        _finding(
            each,
            rules,
            differ.get(each.cell) if each.control else slower.get(each.cell),
            faster.get(each.cell),
            confirmed_cells=len(slower),
        )
        for each in evidence
    )
    outcome, reasons = _outcome(evidence, findings, rules)
    return Result(outcome=outcome, findings=findings, rules=rules, reasons=tuple(reasons))


def _adjusted(
    evidence: Sequence[Evidence], test: Callable[[Evidence], float | None]
) -> dict[str, float]:
    """Holm's p-values by cell, of those that have enough starts for the test."""
    found = {each.cell: test(each) for each in evidence}
    return holm.adjusted({cell: p for cell, p in found.items() if p is not None})


def _control_ps(controls: Sequence[Evidence]) -> dict[str, float]:
    return _adjusted(controls, lambda each: slowdown.p_different(each.deciding))


def _suspected(each: Evidence, rules: Rules) -> bool:
    if len(each.screening) == 1:
        return each.screening[0] < math.log1p(-rules.margin)
    p = slowdown.p_slower(each.screening, rules.margin)
    return p is not None and p <= rules.screen_error


def _differs(control: Evidence, p: float | None, rules: Rules) -> bool:
    """Whether a control claims a difference; one wholly within the margin moves no verdict."""
    if p is None or p > rules.family_error:
        return False
    return verdict(estimate(control.deciding), rules.margin) != "same"


def _finding(
    each: Evidence, rules: Rules, p: float | None, p_faster: float | None, *, confirmed_cells: int
) -> Finding:
    found = estimate(each.deciding) if each.deciding else None
    tolerance = rules.resident_tolerance if each.resident_memory else rules.memory_tolerance
    memory = unchanged.memory(each.peak_memory_bytes, each.old_peak_memory_bytes, tolerance)
    losses = unchanged.losses(each.losses, each.old_losses, rules.loss_tolerance)
    word = _verdict(each, rules, found, p, p_faster)
    problems = [check.detail for check in (memory, losses) if check.ok is False]
    if word == "regressed":
        problems.insert(0, f"slower than {1 - rules.margin:.3g}×")
    if word == "differs":
        problems.insert(0, "differs from itself")
    if each.broken:
        problems.insert(0, f"does not run any more: {each.broken}")
    return Finding(
        cell=each.cell,
        control=each.control,
        verdict=word,
        ratio=found.speedup if found else None,
        low=found.low if found else None,
        high=found.high if found else None,
        p=p,
        starts=len(each.deciding),
        confirmed=bool(each.confirmation),
        detectable=None if each.control else _detectable(each, rules, max(1, confirmed_cells)),
        memory=memory,
        losses=losses,
        problems=tuple(problems),
    )


def _verdict(
    each: Evidence, rules: Rules, found: Estimate | None, p: float | None, p_faster: float | None
) -> str:
    if found is None:
        return "not measured"
    if each.control:
        word = "differs" if _differs(each, p, rules) else verdict(found, rules.margin)
        return word if word in ("differs", "same") else "unclear"
    if p is not None and p <= rules.family_error:
        return "regressed"
    if p_faster is not None and p_faster <= rules.family_error:
        return "improved"
    return "same" if verdict(found, rules.margin) == "same" else "unclear"


def _detectable(each: Evidence, rules: Rules, confirmed_cells: int) -> float | None:
    """By the spread of the starts that decide, as if the cell went through both stages."""
    again = rules.confirm_starts or len(each.confirmation) or len(each.screening)
    if len(each.screening) < 2 or len(each.deciding) < 2 or again < 2:
        return None
    return slowdown.smallest_detectable(
        len(each.screening),
        statistics.stdev(each.deciding),
        margin=rules.margin,
        power=rules.power,
        screen_error=rules.screen_error,
        family_error=rules.family_error,
        confirm_starts=again,
        cells=confirmed_cells,
    )


def _outcome(
    evidence: Sequence[Evidence], findings: Sequence[Finding], rules: Rules
) -> tuple[str, list[str]]:
    """What is exact counts first: noise makes no crash, no other loss and no fuller GPU."""
    cells = [each for each in findings if not each.control]
    controls = [each for each in findings if each.control]
    exact = _exact(evidence, cells, controls)
    if exact:
        return "regression", exact + _slower(cells)
    if wrong := [f"control {each.cell}: {each.problems[0]}" for each in controls if each.problems]:
        return "inconclusive", wrong
    if slower := _slower(cells):
        return "regression", slower
    if missing := _missing(evidence, cells, rules):
        return "inconclusive", missing
    return "no regression", []


def _slower(cells: Sequence[Finding]) -> list[str]:
    return [f"{each.cell}: {each.problems[0]}" for each in cells if each.verdict == "regressed"]


def _exact(
    evidence: Sequence[Evidence], cells: Sequence[Finding], controls: Sequence[Finding]
) -> list[str]:
    """Crashes, and memory or losses that changed; unless a control's changed just so."""
    found = [f"{e.cell}: does not run any more: {e.broken}" for e in evidence if e.broken]
    for name in ("memory", "losses"):
        if any(getattr(each, name).ok is False for each in controls):
            continue
        checks = [(each.cell, getattr(each, name)) for each in cells]
        found += [f"{cell}: {check.detail}" for cell, check in checks if check.ok is False]
    return found


def _missing(evidence: Sequence[Evidence], cells: Sequence[Finding], rules: Rules) -> list[str]:
    """Why "no regression" would say more than was measured."""
    if not any(each.ratio is not None for each in cells):
        reasons = [f": {each.unmeasured}" for each in evidence if each.unmeasured]
        return [f"nothing was measured{reasons[0] if reasons else ''}"]
    waiting = set(to_confirm(evidence, rules))
    lines = []
    for each in evidence:
        if each.unmeasured:
            lines.append(f"{each.cell}: {each.unmeasured}")
        elif each.cell in waiting and not each.control and len(each.confirmation) < 2:
            lines.append(f"{each.cell}: looks slower and was not measured again")
    return lines
