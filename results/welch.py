"""How two sets of starts, taken at different times, compare: a ratio, its interval, a test."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special, stats


@dataclass(frozen=True)
class Ratio:
    """new / base, with its interval; low and high are None where one of them has a single start.

    `error` is the standard error of the log ratio, `degrees` its degrees of freedom.
    """

    value: float
    low: float | None = None
    high: float | None = None
    error: float | None = None
    degrees: float | None = None


def ratio(base: Sequence[float], new: Sequence[float], confidence: float = 0.95) -> Ratio:
    """The ratio of the geometric means behind two samples of logarithms, one value per start.

    The two runs may be noisy to different degrees and have different numbers of starts.

    Source: Welch, "The generalization of Student's problem when several different population
    variances are involved", 1947; degrees of freedom by Satterthwaite, 1946.

    Raises ValueError for no value or one that is not finite.
    """
    samples = [np.asarray(values, dtype=np.float64) for values in (base, new)]
    if not all(sample.size and np.isfinite(sample).all() for sample in samples):
        raise ValueError("needs at least one finite logarithm of each run")
    shift = float(samples[1].mean() - samples[0].mean())
    value = math.exp(shift)
    if min(sample.size for sample in samples) < 2:
        return Ratio(value)
    parts = [float(sample.var(ddof=1)) / sample.size for sample in samples]
    error = math.sqrt(sum(parts))
    if error == 0:
        return Ratio(value, value, value, 0.0, float(sum(sample.size - 1 for sample in samples)))
    degrees = sum(parts) ** 2 / sum(
        part**2 / (sample.size - 1) for part, sample in zip(parts, samples, strict=True)
    )
    half = float(stats.t.ppf((1 + confidence) / 2, degrees)) * error
    return Ratio(value, math.exp(shift - half), math.exp(shift + half), error, degrees)


def p_fallen(found: Ratio, margin: float) -> float | None:
    """One-sided p-value of "new is slower than base by more than `margin`" (a share).

    None where there is no spread to test with.
    """
    if found.error is None or found.degrees is None:
        return None
    distance = math.log(found.value) - math.log1p(-margin)
    if found.error == 0:
        return 0.5 if distance == 0 else float(distance > 0)
    return float(special.stdtr(found.degrees, distance / found.error))
