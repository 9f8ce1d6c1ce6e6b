"""Many runs of the gate on a made-up machine, all at once: what `results.gate` does, in arrays.

The tests first check that these arrays say what the gate says, run by run, and then count over
10,000 runs. Axes: (runs, cells, starts).
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats

Noise = Callable[[np.random.Generator, tuple[int, ...]], Any]

SD = 0.023  # of log ratios between A/A starts, measured on two shared cores


def normal(random: np.random.Generator, shape: tuple[int, ...]) -> Any:
    return random.normal(0, SD, shape)


def heavy_tails(random: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """Student's t with 3 degrees of freedom, scaled to the same SD."""
    return random.standard_t(3, shape) * SD / math.sqrt(3)


def drift(random: np.random.Generator, shape: tuple[int, ...], pairs: int = 4) -> Any:
    """Starts whose machine drifts under the blocks: 4 pairs in ABBA order each.

    The machine's log speed moves by a slope that differs from start to start (1% a block) and by
    a random walk (1% a block); both arms' blocks lie on that path. The rest of the spread is the
    starts' own.
    """
    blocks = 2 * pairs
    slope = random.normal(0, 0.01, (*shape, 1)) * np.arange(blocks)
    walk = random.normal(0, 0.01, (*shape, blocks)).cumsum(axis=-1)
    signs = np.array([1, -1, -1, 1] * (pairs // 2))
    return normal(random, shape) + ((slope + walk) * signs).sum(axis=-1) / pairs


def p_below(values: Any, bound: float) -> Any:
    """One-sided t-test p-values over the last axis."""
    starts = values.shape[-1]
    error = values.std(axis=-1, ddof=1) / math.sqrt(starts)
    return stats.t.cdf((values.mean(axis=-1) - bound) / error, starts - 1)


def regressed(
    screening: Any, confirmation: Any, margin: float, screen_error: float, family_error: float
) -> Any:
    """(runs, cells) of bool: which cells are confirmed to be slower. Holm over the flagged."""
    bound = math.log1p(-margin)
    flagged = p_below(screening, bound) <= screen_error
    p = np.where(flagged, p_below(confirmation, bound), np.inf)
    order = p.argsort(axis=1)
    ranks = np.arange(p.shape[1])
    left = flagged.sum(axis=1, keepdims=True) - ranks
    ordered = np.take_along_axis(p, order, axis=1)
    adjusted = np.maximum.accumulate(ordered * np.maximum(left, 1), axis=1)
    rejected = np.zeros_like(flagged)
    np.put_along_axis(rejected, order, adjusted <= family_error, axis=1)
    return rejected
