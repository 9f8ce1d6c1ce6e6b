"""What a climb up the ladder found for one workload: plain data, for tables and reports."""

from dataclasses import dataclass

from results.record import Record


@dataclass(frozen=True, kw_only=True)
class Rung:
    """Techniques that were kept, when they were kept.

    confirmed: on fresh starts, against what was kept before.
    left_out: the whole recipe against the recipe without them, afterwards; None where that is the
        comparison of `confirmed`, or where the budget ended before.
    dropped: why they are not in the recipe after all, or None.
    """

    name: str
    confirmed: Record
    left_out: Record | None = None
    dropped: str | None = None


@dataclass(frozen=True, kw_only=True)
class Left:
    """A technique that never became a rung, and why in a sentence."""

    name: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """The answer for one workload on one device.

    total: the recipe against the plain setting, on starts of its own after all choices were made;
        None where nothing was kept.
    confirmations: comparisons that could have kept something, for a reader who counts chances.
    """

    workload: str
    scale: str
    device: str
    rungs: tuple[Rung, ...]
    left: tuple[Left, ...]
    total: Record | None
    confirmations: int

    @property
    def kept(self) -> tuple[Rung, ...]:
        return tuple(rung for rung in self.rungs if rung.dropped is None)

    @property
    def name(self) -> str:
        """workers2 + channels_last, or plain."""
        return " + ".join(rung.name for rung in self.kept) or "plain"
