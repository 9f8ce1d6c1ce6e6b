"""Several tests at once, without a false alarm becoming likelier with each."""

from collections.abc import Mapping


def adjusted(p_values: Mapping[str, float]) -> dict[str, float]:
    """p-values that may be held against the error of the whole family.

    Rejecting what is adjusted to at most 0.05 rejects any true hypothesis at all with a
    probability of at most 0.05, however the tests depend on each other. The order of the keys is
    kept.

    Source: Holm, "A simple sequentially rejective multiple test procedure", 1979.
    """
    ordered = sorted(p_values, key=lambda name: p_values[name])
    found: dict[str, float] = {}
    largest = 0.0
    for place, name in enumerate(ordered):
        largest = max(largest, min(1.0, (len(ordered) - place) * p_values[name]))
        found[name] = largest
    return {name: found[name] for name in p_values}
