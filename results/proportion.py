"""How sure a counted share is: 3 false alarms in 60 runs is not "5%", it is 2% to 14%."""

from scipy import stats


def wilson(successes: int, trials: int, confidence: float = 0.95) -> tuple[float, float]:
    """Bounds of the share behind `successes` out of `trials` independent tries.

    The score interval keeps its coverage for few trials and for shares near 0, where the usual
    one shrinks to a point at 0 of n.

    Source: Wilson, "Probable inference, the law of succession, and statistical inference", 1927.

    Raises ValueError without a trial, or for more successes than trials.
    """
    found = stats.binomtest(successes, trials).proportion_ci(confidence, method="wilson")
    return float(found.low), float(found.high)
