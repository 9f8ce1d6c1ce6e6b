"""What a check returns: what is wrong, how that is known, and what to do about it."""

from dataclasses import dataclass
from enum import Enum


class Level(Enum):
    """MEND: training, or the accelerator that is there, does not work. WARN: it works, but."""

    MEND = "mend"
    WARN = "warning"


@dataclass(frozen=True)
class Finding:
    """One sentence each, without a line break."""

    level: Level
    what: str
    evidence: str
    advice: str
