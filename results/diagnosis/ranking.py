"""All rules over one cell, and which finding is the answer."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from results.diagnosis import disturbances, limits, waits
from results.diagnosis.finding import Finding, Rule, Ruled
from results.diagnosis.numbers import Numbers, numbers
from results.record import Record

RULES: Mapping[str, Rule] = {
    "foreign load": disturbances.foreign_load,
    "oversubscription": disturbances.oversubscription,
    "thermal limit": disturbances.thermal_limit,
    "data loading": waits.data_loading,
    "host-to-device copies": waits.copies,
    "communication": waits.communication,
    "kernel launches": waits.kernel_launches,
    "too few threads": waits.too_few_threads,
    "power limit": limits.power_limit,
    "memory bandwidth": limits.memory_bandwidth,
    "compute": limits.compute,
}
NOT_CLEAR = "not clear"


@dataclass(frozen=True)
class Diagnosis:
    """Findings, the one to act on first; and the rules whose numbers are missing."""

    findings: tuple[Finding, ...]
    unknown: tuple[str, ...]


def diagnose(cell: Numbers) -> Diagnosis:
    """What binds a cell, the first finding being the answer.

    Ranked by tier, then by the share of the time explained, then by the rules' order: what
    disturbs a cell comes first, because it falsifies the other numbers; then what leaves the
    device that trains standing still, because a setting can give that time back; what a busy
    device is short of comes last, because relieving it changes nothing while the device waits.
    """
    answers = {name: rule(cell) for name, rule in RULES.items()}
    findings = [answer for answer in answers.values() if isinstance(answer, Finding)]
    return Diagnosis(
        tuple(sorted(findings, key=lambda finding: (finding.tier, -finding.share))),
        tuple(name for name, answer in answers.items() if answer is Ruled.UNKNOWN),
    )


def sentence(record: Record, offered: Callable[[str], bool] = lambda name: True) -> str:
    """What binds this record's candidate, its evidence and what to try: one sentence, no markup.

    `offered`: whether a technique is worth naming, being there and not already tried in vain.
    Starts with NOT_CLEAR where the numbers do not tell, and then says what they lack.
    """
    cell = numbers(record)
    found = diagnose(cell)
    if not found.findings:
        return f"{NOT_CLEAR}: {_why_not(cell, found)}"
    first, *others = found.findings
    said = replace(first, techniques=tuple(filter(offered, first.techniques))).sentence
    if others:
        said += f" (next: {others[0].binds}, {others[0].share:.0%})"
    return said


def _why_not(cell: Numbers, found: Diagnosis) -> str:
    if cell.shares is None:
        return "where a step's time goes was not measured"
    largest = sorted(cell.shares.items(), key=lambda part: -part[1])[:3]
    parts = ", ".join(f"{name} {share:.0%}" for name, share in largest)
    lacking = f"; unknown: {', '.join(found.unknown)}" if found.unknown else ""
    return f"no rule fits a step of {parts}{lacking}"
