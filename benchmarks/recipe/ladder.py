"""The ladder: what to try next, what to keep, when to stop. Measuring is passed in.

Forward selection in passes, then backward elimination:

1. Screen every technique on top of what is kept, with few starts. This ranks them and decides
   nothing: the best of thirty noisy numbers is too good by far.
2. Confirm those that looked faster, the best first, each on top of what is kept by then, on fresh
   starts. Kept is what this interval alone says pays, and this interval is what is printed.
3. As long as a pass kept something, screen what is left again: techniques interact, and loader
   workers may pay only once computing is fast.
4. Leave one out: the recipe against the recipe without each of its parts. What no longer pays goes.

Confirming starts are fresh, so however a technique was chosen, one without effect passes 2 with a
chance of 2.5%, and then has to look better than the margin in 4, on fresh starts again.
In 4 the burden of proof is turned: a part was shown to pay once, so an unclear answer whose
estimate is above the margin keeps it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean

from benchmarks.setting import Setting
from benchmarks.techniques import Technique
from results.controls import measured, shown_faster
from results.recipe import Left, Rung
from results.record import MARGIN, Record
from results.wording import outcome, speedup

Techniques = tuple[Technique, ...]
SCREEN, CONFIRM, LEAVE_OUT, TOTAL = "screen", "confirm", "leave-out", "total"
WORTH_ANOTHER_TRY = 0.9  # what is screened below this is not screened again on top of others
FIRST_PASS = 0.5  # of the budget: no screening of the first pass begins later
A_TRIAL = 0.1  # of the budget: what measuring a trial takes, until one was confirmed


@dataclass(frozen=True)
class Trial:
    """Candidate: `move` on top of `base`. Baseline: `base`."""

    stage: str
    move: Techniques
    base: Techniques

    @property
    def name(self) -> str:
        return named(self.move)


Measure = Callable[[Trial], Record]
Spent = Callable[[], float]  # share of the budget


@dataclass
class Climb:
    """How far a climb has come; complete or not, it is what the report is made from."""

    kept: Techniques = ()
    rungs: list[Rung] = field(default_factory=list)
    parts: dict[str, Techniques] = field(default_factory=dict)  # rung -> its techniques
    left: dict[str, Left] = field(default_factory=dict)
    trials: list[float] = field(default_factory=list)  # what each confirming one took of the budget

    @property
    def confirmations(self) -> int:
        return len(self.trials)

    @property
    def a_trial(self) -> float:
        """Share of the budget that measuring a trial takes: the mean, as compiling is rare."""
        return (fmean(self.trials) if self.trials else 0.0) or A_TRIAL

    def room_for(self, trials: int) -> float:
        """Share of the budget after which there is no room for so many trials and the total."""
        return 1 - (trials + 1) * self.a_trial

    @property
    def confirming_ends(self) -> float:
        """Behind it waits leaving out each rung but the last, which may be the one confirmed."""
        return self.room_for(1 + sum(rung.dropped is None for rung in self.rungs))

    def leave(self, name: str, reason: str) -> None:
        self.left[name] = Left(name=name, reason=reason)


def named(techniques: Sequence[Technique]) -> str:
    return " + ".join(technique.name for technique in techniques)


def setting_of(techniques: Sequence[Technique], device: str) -> Setting:
    """The plain setting with all of them, in order."""
    setting = Setting(device=device)
    for technique in techniques:
        setting = technique.apply(setting)
    return setting


def knobs(techniques: Sequence[Technique]) -> set[str]:
    return {knob for technique in techniques for knob in technique.change}


def add(kept: Techniques, move: Techniques) -> Techniques:
    """What is kept then: a technique all of whose knobs are turned again is replaced."""
    turned = knobs(move)
    return (*(each for each in kept if not set(each.change) <= turned), *move)


def move_for(technique: Technique, kept: Techniques, device: str) -> Techniques | None:
    """The technique with what it stands on and is not there yet; None where it changes nothing.

    It stands firm where those knobs are turned at all: prefetching, tried on two workers, is as
    well tried on four.
    """
    setting, plain = setting_of(kept, device), Setting(device=device)
    lacking = [
        ground
        for ground in technique.on
        if any(getattr(setting, knob) == getattr(plain, knob) for knob in ground.change)
    ]
    move = (*lacking, technique)
    return move if technique.changes(setting_of((*kept, *lacking), device)) else None


def standing_on(part: Techniques, kept: Techniques) -> Techniques:
    """`part` and whatever of `kept` makes no sense without it, in the order of `kept`."""
    turned = knobs(part)
    return tuple(each for each in kept if each in part or knobs(each.on) & turned)


def climb(techniques: Sequence[Technique], device: str, measure: Measure, spent: Spent) -> Climb:
    """Steps 1 to 3 and 4. `measure` never raises for a trial that fails: its record says so."""
    climbed = Climb()
    waiting, first = in_order(techniques), True
    while waiting:
        before = climbed.kept
        until = FIRST_PASS if first else climbed.confirming_ends - climbed.a_trial
        again, untried = _one_pass(climbed, waiting, device, measure, spent, until=until)
        # what the first pass had no time for comes first where confirming left some
        if climbed.kept != before:
            waiting = [*untried, *again]
        elif first:
            waiting = untried
        else:
            break
        first = False
    _leave_one_out(climbed, device, measure, spent)
    return climbed


def in_order(techniques: Sequence[Technique]) -> list[Technique]:
    """What is cheap to try first: what needs no other ground, then by how dear starting is."""
    return sorted(techniques, key=lambda each: (len(each.on), each.first_step_s))


def _one_pass(
    climbed: Climb,
    waiting: Sequence[Technique],
    device: str,
    measure: Measure,
    spent: Spent,
    *,
    until: float,
) -> tuple[list[Technique], list[Technique]]:
    """Screen and confirm; no screening begins later than `until`.

    Returns what is worth another try on top of what was kept, the most promising first, and what
    there was no time for.
    """
    again: list[tuple[float, Technique]] = []
    untried: list[Technique] = []
    screened: list[tuple[float, Technique, Techniques]] = []
    for technique in waiting:
        move = move_for(technique, climbed.kept, device)
        if move is None:
            climbed.leave(technique.name, f"is part of {named(climbed.kept)}")
            continue
        if spent() >= until:
            untried.append(technique)
            if technique.name not in climbed.left:
                climbed.leave(technique.name, "not tried: the budget ended")
            continue
        record = measure(Trial(SCREEN, move, climbed.kept))
        if not measured(record) or record.speedup is None:
            climbed.leave(technique.name, failure(record))
            continue
        climbed.leave(technique.name, f"screened at {speedup(record)}{_on(climbed.kept)}")
        if record.speedup >= WORTH_ANOTHER_TRY:
            again.append((record.speedup, technique))
        if record.speedup > 1:
            screened.append((record.speedup, technique, move))
    added: set[str] = set()
    for estimate, technique, move in sorted(screened, key=lambda each: -each[0]):
        if knobs(move) & added:  # another value of a knob that was just turned
            climbed.leave(  # unless the next pass, which tries it on top of that, says more
                technique.name,
                f"screened at {estimate:.2f}×, not tried{_on(climbed.kept)}: the budget ended",
            )
            continue
        if spent() >= climbed.confirming_ends:
            climbed.leave(
                technique.name, f"screened at {estimate:.2f}×, not confirmed: the budget ended"
            )
            continue
        began = spent()
        _confirm(climbed, technique, move, measure)
        climbed.trials.append(spent() - began)
        if technique in climbed.kept:
            added |= knobs(move)
    again.sort(key=lambda each: -each[0])
    return [technique for _, technique in again if technique not in climbed.kept], untried


def _confirm(climbed: Climb, technique: Technique, move: Techniques, measure: Measure) -> None:
    record = measure(Trial(CONFIRM, move, climbed.kept))
    if not shown_faster(record):
        climbed.leave(
            technique.name,
            failure(record)
            if record.outcome != "ok"
            else f"not shown to pay{_on(climbed.kept)}: {speedup(record)} on fresh starts",
        )
        return
    after = add(climbed.kept, move)
    for place, rung in enumerate(climbed.rungs):
        if rung.dropped is None and not _holds_any(climbed.parts[rung.name], after):
            climbed.rungs[place] = replace(rung, dropped=f"replaced by {named(move)}")
    climbed.kept = after
    climbed.parts[named(move)] = move
    climbed.rungs.append(Rung(name=named(move), confirmed=record))
    for each in move:
        climbed.left.pop(each.name, None)


def still_pays(record: Record) -> bool:
    """Shown to pay before: also where the interval is unclear and the estimate above the margin."""
    if record.outcome != "ok":
        return False
    hopeful = record.speedup is not None and record.speedup > 1 + MARGIN
    return shown_faster(record) or (record.verdict == "unclear" and hopeful)


def _leave_one_out(climbed: Climb, device: str, measure: Measure, spent: Spent) -> None:
    """Until every rung was tried without on exactly what is kept; the last one was when it came."""
    if not climbed.rungs:
        return
    tried = {climbed.rungs[-1].name: climbed.kept}
    while True:
        untried = [
            (place, rung)
            for place, rung in enumerate(climbed.rungs)
            if rung.dropped is None and tried.get(rung.name) != climbed.kept
        ]
        if not untried or spent() >= climbed.room_for(1):
            return
        place, rung = untried[0]
        tried[rung.name] = climbed.kept
        part = standing_on(climbed.parts[rung.name], climbed.kept)
        rest = tuple(each for each in climbed.kept if each not in part)
        if not rest:
            continue  # the whole recipe: the total says whether that pays
        record = measure(Trial(LEAVE_OUT, part, rest))
        climbed.rungs[place] = replace(rung, left_out=record)
        if record.outcome == "not_run" or still_pays(record):
            continue
        climbed.kept = rest
        why = failure(record) if record.outcome != "ok" else speedup(record)
        for number, other in enumerate(climbed.rungs):
            if other.dropped is None and not _holds_any(climbed.parts[other.name], rest):
                climbed.rungs[number] = replace(
                    other, dropped=f"no longer pays beside {named(rest)}: {why}"
                )


def _holds_any(part: Techniques, kept: Techniques) -> bool:
    return any(each in kept for each in part)


def failure(record: Record) -> str:
    return f"{outcome(record.outcome)}: {record.reason}"


def _on(kept: Techniques) -> str:
    return f" on top of {named(kept)}" if kept else ""
