"""What other people's pytest-benchmark files say: one median time per benchmark.

Their rounds come from one process and depend on each other, so a spread over them says nothing
about the next process: a ratio of medians is all that may be taken from such a file.
"""

import json
import math
from pathlib import Path

from results.store import StoreError


def medians(path: Path) -> dict[str, float]:
    """Seconds by a benchmark's fullname; what has no positive, finite median is left out.

    Raises StoreError for a file that cannot be read or is not pytest-benchmark's JSON.
    """
    try:
        content = json.loads(path.read_bytes())
        benchmarks = content["benchmarks"]
        found = {str(each["fullname"]): each["stats"]["median"] for each in benchmarks}
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror or error}") from error
    except (KeyError, TypeError, ValueError, RecursionError):
        raise StoreError(
            f"{path} is not a file of pytest-benchmark: write one with --benchmark-json"
        ) from None
    return {
        name: float(median)
        for name, median in found.items()
        if isinstance(median, int | float) and math.isfinite(median) and median > 0
    }
