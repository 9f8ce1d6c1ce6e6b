"""What a rule answers: a finding with its evidence, that it is not so, or that nobody can tell."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, IntEnum

from results.diagnosis.numbers import Numbers


class Tier(IntEnum):
    """In which order findings are worth acting on, see `diagnose`."""

    DISTURBED = 0  # somebody else, or the cell itself, falsifies the other numbers
    WAITING = 1  # the device that trains stands still
    LIMITED = 2  # it works all the time, this is what it is short of


class Ruled(Enum):
    """An answer without a finding."""

    OUT = "it is not that"
    UNKNOWN = "the numbers that would tell are missing"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What binds a cell.

    share: of the cell's time, 0 to 1, how much this explains; ranks findings of one tier.
    techniques: of the suite, worth trying, the likeliest first; already used ones left out.
    remedy: what to do where no technique is one.
    """

    binds: str
    evidence: str
    tier: Tier
    share: float
    techniques: tuple[str, ...] = ()
    remedy: str = ""

    @property
    def sentence(self) -> str:
        """Data loading: 61% of a step waits for data; try workers2."""
        todo = f"try {_either(self.techniques)}" if self.techniques else self.remedy
        return f"{self.binds}: {self.evidence}" + (f"; {todo}" if todo else "")


Answer = Finding | Ruled
Rule = Callable[[Numbers], Answer]


def _either(names: tuple[str, ...]) -> str:
    return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
