"""What a small training shows of itself, and whether the checks of the suite believe it."""

from typing import Any

from benchmarks.ranks.evidence import read_back
from benchmarks.techniques import Evidence, Technique, checks
from benchmarks.training import Training
from benchmarks.training.observation import observe


def seen_of(trained: Training) -> Evidence:
    """As an arm reports it, less what its warm-up watches."""
    return read_back(trained) | observe(trained)


def believed(name: str, setting: Any, evidence: Evidence, **lies: Any) -> bool:
    """Whether the check of that name is convinced, with `lies` in the evidence."""
    finding = checks()[name](setting, {**evidence, **lies})
    assert finding
    return finding[0]


def named(techniques: Any, name: str) -> Technique:
    """The technique of that name in a family."""
    found: Technique = next(t for t in techniques(2) if t.name == name)
    return found
