"""What must not change between two revisions and is exact where time is noisy: memory, losses."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

MIB = 1 << 20


@dataclass(frozen=True)
class Check:
    """`ok` is None where there was nothing to compare; `detail` is one line for a reader."""

    ok: bool | None
    detail: str


def memory(new_bytes: int | None, old_bytes: int | None, tolerance: float) -> Check:
    """Peak memory may grow by this share; less memory is never wrong."""
    if new_bytes is None or old_bytes is None:
        return Check(None, "peak memory unknown")
    grown = new_bytes / old_bytes - 1 if old_bytes else math.inf if new_bytes else 0.0
    change = f"{old_bytes / MIB:,.1f} to {new_bytes / MIB:,.1f} MiB"
    if math.isfinite(grown):
        change += f" ({grown:+.1%})"
    return Check(grown <= tolerance, f"peak memory {change.replace('-', '−')}")


def losses(new: Sequence[float], old: Sequence[float], tolerance: float) -> Check:
    """The first losses, from the same seed and data, may differ by this share of the old ones.

    In either direction: a lower loss from the same steps is another training, whose time is no
    answer to whether this one got slower. What one arm has more of is not compared.
    """
    pairs = list(zip(new, old, strict=False))
    if not pairs:
        return Check(None, "no losses to compare")
    for step, (after, before) in enumerate(pairs):
        if not math.isfinite(after) or abs(after - before) > tolerance * abs(before):
            return Check(False, f"loss of step {step} went from {before:.5g} to {after:.5g}")
    return Check(True, f"{len(pairs)} first losses agree within {tolerance:.2%}")
