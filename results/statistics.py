"""How sure a speed-up is: pure functions over what the starts measured.

The unit of inference is the start (both arms launched afresh), never the step or the block:
times of one process share its memory layout and its neighbours, and treating them as
independent makes intervals far too narrow.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special  # not stats: its import takes seconds, after the first cell

from results.record import MARGIN, StepTimes


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A speed-up (candidate's throughput / baseline's) and its interval.

    `low` or `high` is None where nothing bounds it. `detectable` is the smallest
    |speed-up - 1| that an interval of this width could have told from 1.00.
    """

    speedup: float
    low: float | None
    high: float | None
    detectable: float | None


def estimate(log_ratios: Sequence[float], confidence: float = 0.95) -> Estimate:
    """The geometric mean of the starts' throughput ratios and its t-interval.

    `log_ratios`: natural log of candidate / baseline throughput, one per start. Assumes that
    starts are independent and their log ratios roughly normal; the spread between starts then
    holds every layer of variance below it. One start has no spread, so no interval.

    Sources: Student, "The probable error of a mean", 1908; Kalibera & Jones, "Rigorous
    benchmarking in reasonable time", 2013 (repeat at the outermost layer that varies).

    Raises ValueError for no ratio, one that is not finite, or a confidence outside (0, 1).
    """
    ratios = _finite(log_ratios, "log ratio")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence is {confidence}, must lie between 0 and 1")
    mean = float(ratios.mean())
    if ratios.size == 1:
        return Estimate(speedup=math.exp(mean), low=None, high=None, detectable=None)
    error = float(ratios.std(ddof=1)) / math.sqrt(ratios.size)
    half = float(special.stdtrit(ratios.size - 1, (1 + confidence) / 2)) * error
    widest = _exp(half)
    return Estimate(
        speedup=math.exp(mean),
        low=math.exp(mean - half),
        high=_exp(mean + half),
        detectable=None if widest is None else widest - 1,
    )


def verdict(estimate: Estimate, margin: float = MARGIN) -> str:
    """What the interval allows to say: one of record.VERDICTS.

    "same" where all of it lies within 1 ± margin (even if it excludes 1.00: a real difference
    too small to matter), else "faster" or "slower" where it excludes 1.00, else "unclear".
    A missing bound is unbounded, so a speed-up known only as "at most 0.1" is "slower".

    Raises ValueError for a negative margin.
    """
    if margin < 0:
        raise ValueError(f"margin is {margin}, must not be negative")
    low = 0.0 if estimate.low is None else estimate.low
    high = math.inf if estimate.high is None else estimate.high
    if 1 - margin <= low and high <= 1 + margin:
        return "same"
    if low > 1:
        return "faster"
    if high < 1:
        return "slower"
    return "unclear"


def step_quantiles(seconds: Sequence[float]) -> StepTimes:
    """Median and tails of single step times, in seconds, interpolated linearly.

    They describe; they decide nothing, since steps of one process depend on each other.
    Raises ValueError for no step, or a time that is negative or not finite.
    """
    times = _finite(seconds, "step time")
    if times.min() < 0:
        raise ValueError(f"step time {times.min()} s is negative")
    p10, median, p90, p99 = (float(value) for value in np.quantile(times, (0.1, 0.5, 0.9, 0.99)))
    return StepTimes(median=median, p10=p10, p90=p90, p99=p99)


def _finite(values: Sequence[float], what: str) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    array = np.array(values, dtype=np.float64).ravel()
    if array.size == 0:
        raise ValueError(f"needs at least one {what}")
    if not np.isfinite(array).all():
        raise ValueError(f"{what} {array[~np.isfinite(array)][0]} is not finite")
    return array


def _exp(exponent: float) -> float | None:
    """e to the exponent; None beyond what a float holds, since JSON has no infinity."""
    try:
        return math.exp(exponent)
    except OverflowError:
        return None
