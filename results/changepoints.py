"""Where a series changed its level: few changes that hold, not every jump of noise.

Optimal partitioning with a squared-error cost and a penalty per change (Jackson et al., "An
algorithm for optimal partitioning of data on an interval", 2005); PELT (Killick, Fearnhead &
Eckley, "Optimal detection of changepoints with a linear computational cost", 2012) is the same
optimum with pruning, which saves nothing where changes are rare, as here, and the plain recursion
is a screen of code. Before it, outliers are pulled in to the running median (Hampel, "The influence
curve and its role in robust estimation", 1974), since one bad night is not a new level.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

SHORTEST = 3  # runs that a level must last: fewer cannot be told from outliers
PENALTY = 4.0  # times log n noise variances: see the false alarms simulated in the tests
WINDOW = 7
CLIP = 2.5  # noise SDs from the running median
MAD_TO_SD = 1.4826  # of a normal distribution
LEAST_SD = 1e-6  # a made-up series without noise


def change_points(values: Sequence[float]) -> list[int]:
    """Positions at which a new level begins, ascending; empty for a steady or short series.

    `values`: one per run, in order, on a scale where changes add (logarithms of ratios). Assumes
    independent noise of one spread. Raises ValueError for a value that is not finite.
    """
    series = np.asarray(values, dtype=np.float64)
    if not np.isfinite(series).all():
        raise ValueError(f"value {series[~np.isfinite(series)][0]} is not finite")
    if series.size < 2 * SHORTEST:
        return []
    sd = noise_sd(series)
    calm = winsorised(series, sd)
    # In units of the noise's variance; centred, so that the sums lose no digits.
    return _partition((calm - calm.mean()) / sd, PENALTY * np.log(series.size))


def noise_sd(series: Any) -> float:
    """Spread without the changes: from the differences of neighbours, of which few hold one.

    Never below what the median distance within a small sample must be expected to hide.
    """
    differences = np.diff(series)
    spread = MAD_TO_SD * float(np.median(np.abs(differences))) / math.sqrt(2)
    return max(spread * (1 + 3 / len(differences)), LEAST_SD)


def winsorised(series: Any, sd: float) -> Any:
    """Every value at most CLIP noise SDs from the median of its neighbourhood."""
    half = WINDOW // 2
    padded = np.pad(series, half, constant_values=np.nan)
    middle = np.nanmedian(np.lib.stride_tricks.sliding_window_view(padded, WINDOW), axis=1)
    return np.clip(series, middle - CLIP * sd, middle + CLIP * sd)


def _partition(series: Any, penalty: float) -> list[int]:
    """The segmentation of least squared error + penalty per change."""
    n = series.size
    total = np.concatenate([[0.0], series.cumsum()])
    # The sum of squares of a whole segmentation is the same for all: only what the means explain
    # has to be compared, mass^2 / length per segment.
    best = np.full(n + 1, np.inf)  # of the first t values
    best[0] = -penalty
    last = np.zeros(n + 1, dtype=np.int64)
    per_length = 1 / np.arange(n, 0, -1, dtype=np.float64)
    for t in range(SHORTEST, n + 1):
        begins = t - SHORTEST + 1  # candidates 0 .. t - SHORTEST
        mass = total[t] - total[:begins]
        mass *= mass
        mass *= per_length[n - t : n - t + begins]
        whole = best[:begins] - mass
        place = int(whole.argmin())
        best[t], last[t] = whole[place] + penalty, place
    found = []
    t = int(last[n])
    while t > 0:
        found.append(t)
        t = int(last[t])
    return found[::-1]
