"""Is it slower than what matters? A one-sided test on the starts' log ratios, and its power.

A slowdown of 0.05 is a throughput ratio of 0.95. A start's log ratio is the natural log of new
throughput / old throughput; starts are the unit, as everywhere in this room.
"""

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from scipy import optimize, special, stats

GRID = 500  # quantiles of the chi distribution that a power is averaged over


def p_slower(log_ratios: Sequence[float], margin: float) -> float | None:
    """p-value of "the throughput fell by more than `margin`"; None with fewer than two starts.

    The null hypothesis is a mean log ratio of log(1 - margin) or more; small values speak against
    it. One-sided t-test (Student, 1908).

    Raises ValueError for a margin outside [0, 1) or a ratio that is not finite.
    """
    return _p_below(log_ratios, math.log1p(-_checked(margin)))


def p_faster(log_ratios: Sequence[float], margin: float) -> float | None:
    """p-value of "the throughput rose by more than `margin`", as `p_slower`."""
    return _p_below([-ratio for ratio in log_ratios], -math.log1p(_checked(margin)))


def p_different(log_ratios: Sequence[float]) -> float | None:
    """Two-sided p-value of "the throughput is not the same"; None with fewer than two starts."""
    below = p_slower(log_ratios, 0)
    return None if below is None else 2 * min(below, 1 - below)


def _p_below(values: Sequence[float], bound: float) -> float | None:
    array = np.asarray(values, dtype=np.float64)
    if not np.isfinite(array).all():
        raise ValueError(f"log ratio {array[~np.isfinite(array)][0]} is not finite")
    if array.size < 2:
        return None
    error = float(array.std(ddof=1)) / math.sqrt(array.size)
    distance = float(array.mean()) - bound
    if error == 0:  # a made-up machine without noise; what equals the bound is not beyond it
        return 0.5 if distance == 0 else float(distance > 0)
    return float(stats.t.cdf(distance / error, array.size - 1))


def detection(
    slowdown: float,
    starts: int,
    sd: float,
    *,
    margin: float,
    screen_error: float = 0.2,
    family_error: float = 0.05,
    confirm_starts: int | None = None,
    cells: int = 1,
) -> float:
    """Chance that the two stages of the gate find this true slowdown of one cell.

    `starts` and `confirm_starts` (default: as many) are those of screening and of confirmation,
    `sd` is the spread of log ratios between starts, `cells` how many are confirmed together (the
    first of them is held to family_error / cells). Assumes normal, independent starts; the two
    stages then succeed independently. Raises ValueError for fewer than two starts or a negative sd.
    """
    again = starts if confirm_starts is None else confirm_starts
    if starts < 2 or again < 2:
        raise ValueError(f"{min(starts, again)} start has no spread: a test needs at least 2")
    if sd < 0:
        raise ValueError(f"sd is {sd}, must not be negative")
    shift = math.log1p(-_checked(margin)) - math.log1p(-slowdown)
    if sd == 0:
        return float(shift > 0)
    return _rejects(shift / sd, starts, screen_error) * _rejects(
        shift / sd, again, family_error / cells
    )


def smallest_detectable(
    starts: int,
    sd: float,
    *,
    margin: float,
    power: float = 0.8,
    screen_error: float = 0.2,
    family_error: float = 0.05,
    confirm_starts: int | None = None,
    cells: int = 1,
) -> float | None:
    """The smallest slowdown that the gate finds with a chance of `power`; None: not even 99%.

    Parameters as in `detection`. It is never below the margin, which the gate forgives.
    """

    def short(slowdown: float) -> float:
        found = detection(
            slowdown,
            starts,
            sd,
            margin=margin,
            screen_error=screen_error,
            family_error=family_error,
            confirm_starts=confirm_starts,
            cells=cells,
        )
        return found - power

    largest = 0.99
    if short(largest) < 0:
        return None
    if sd == 0:
        return margin
    return float(optimize.brentq(short, margin, largest, xtol=1e-5))


def _rejects(shift: float, starts: int, error: float) -> float:
    """Power of the one-sided t-test for a mean that lies `shift` SDs beyond the bound.

    P(T < -t) of a noncentral t, averaged over the quantiles of the estimated spread: stable for
    every shift, where the closed forms run out of range.
    """
    needed = _critical(error, starts - 1) * _spreads(starts - 1)
    return float(special.ndtr(shift * math.sqrt(starts) - needed).mean())


@cache
def _critical(error: float, degrees: int) -> float:
    return float(stats.t.ppf(1 - error, degrees))


@cache
def _spreads(degrees: int) -> Any:
    """Estimated SD / true SD at evenly spaced chances."""
    chances = (np.arange(GRID) + 0.5) / GRID
    return np.sqrt(stats.chi2.ppf(chances, degrees) / degrees)


def _checked(margin: float) -> float:
    if not 0 <= margin < 1:
        raise ValueError(f"margin is {margin}, must be at least 0 and below 1")
    return margin
