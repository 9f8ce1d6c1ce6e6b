"""A recipe as listings: the ladder, what it costs and keeps, and what is not in it and why."""

from collections.abc import Sequence

from results import listing, wording
from results.columns import Heading
from results.listing import Listing
from results.recipe import Recipe, Rung
from results.record import Record
from results.units import BYTES, JOULES, choose, decimals, number
from results.wording import UNKNOWN

LADDER = (
    Heading("setting", "setting", right=False),
    Heading("speedup", "speed-up of the step on the row above (95% interval)"),
    Heading("cumulative", "cumulative"),
    Heading("without", "the whole recipe over it without this"),
    Heading("kept", "in the recipe", right=False),
)
COSTS = (
    Heading("what", "", right=False),
    Heading("plain", "plain"),
    Heading("recipe", "recipe"),
)
LEFT = (
    Heading("technique", "not in the recipe", right=False),
    Heading("reason", "why", right=False),
)


def markdown(recipe: Recipe) -> str:
    return "\n".join(listing.markdown(each) for each in listings(recipe))


def terminal(recipe: Recipe, width: int, *, colour: bool = False) -> str:
    return "\n".join(listing.terminal(each, width, colour=colour) for each in listings(recipe))


def listings(recipe: Recipe) -> list[Listing]:
    found = [ladder(recipe)]
    if recipe.total is not None:
        found.append(costs(recipe.total))
    if recipe.left:
        found.append(left(recipe))
    return found


def ladder(recipe: Recipe) -> Listing:
    where = f"{recipe.workload}, {recipe.scale}, {recipe.device}"
    records = [rung.confirmed for rung in recipe.rungs]
    records += [recipe.total] if recipe.total is not None else []
    places = wording.places(records)
    rows: list[tuple[str, ...]] = [
        ("plain", UNKNOWN, "1.00×", UNKNOWN, "yes"),
        *_rungs(recipe.rungs, places),
    ]
    if recipe.total is not None:
        total = wording.speedup(recipe.total, places)
        rows.append((f"{recipe.name}, measured against plain", total, total, UNKNOWN, ""))
    return Listing(
        title=f"Recipe for {where}: {recipe.name}", headings=LADDER, rows=rows, lines=_said(recipe)
    )


def _rungs(rungs: Sequence[Rung], places: int) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    cumulative = 1.0
    for rung in rungs:
        cumulative *= rung.confirmed.speedup or 1.0
        without = UNKNOWN if rung.left_out is None else wording.speedup(rung.left_out, places)
        rows.append(
            (
                f"+ {rung.name}",
                wording.speedup(rung.confirmed, places),
                f"{cumulative:.{places}f}×",
                without,
                "yes" if rung.dropped is None else f"no: {rung.dropped}",
            )
        )
    return rows


def _said(recipe: Recipe) -> list[str]:
    if not recipe.rungs:
        return [
            "Nothing that could be tried here was shown to beat the plain setting "
            f"({recipe.confirmations} looked faster at first and were measured again)."
        ]
    lines = [
        "Each row was measured on fresh starts after its technique had been chosen, on top of what "
        f"was kept by then; {recipe.confirmations} were measured so, and of those without any "
        "effect one in forty is kept by chance.",
        "cumulative is the product of the rows; the last row is the recipe against the plain "
        "setting itself, on starts of its own, and the number to quote.",
    ]
    total = recipe.total
    if total is None:
        return [*lines, "Leaving one out at a time left nothing: stay with the plain setting."]
    return [*lines, verdict(total), losses(total)]


def verdict(total: Record) -> str:
    """The one sentence to remember."""
    if total.outcome != "ok" or total.speedup is None:
        return f"The recipe as a whole: {wording.outcome(total.outcome)}, {total.reason}"
    sure = {
        "faster": "trains",
        "same": "is not worth the trouble after all: it trains",
        "slower": "does not hold: it trains",
    }.get(total.verdict or "", "is not shown to be faster as a whole: it trains")
    figures = wording.speedup(total, wording.places([total]))
    return f"{total.technique} {sure} {figures} as fast as the plain setting."


def losses(total: Record) -> str:
    """What the guards say about training under the recipe, beside the plain one."""
    said = {guard["name"]: guard for guard in total.guards}
    guard = said.get("parallel_losses")
    if guard is None:
        return "The losses of both could not be compared."
    word = "agree" if guard["ok"] else "DIFFER"
    broken = [each["detail"] for each in total.guards if not each["ok"] and each is not guard]
    more = f"; {'; '.join(broken)}" if broken else f"; all {len(total.guards)} guards hold"
    return f"First losses {word}: {guard['detail']}{more}."


def costs(total: Record) -> Listing:
    """Throughput, memory and energy of the plain setting and of the recipe."""
    plain = total.telemetry.get("baseline", {})
    rows = [
        _pair(f"{total.unit}/s", total.baseline_samples_per_s, total.samples_per_s),
        _pair("cold start (s)", total.baseline_cold_s, total.cold_s),
        *_bytes(
            "peak memory of the device", total.baseline_peak_memory_bytes, total.peak_memory_bytes
        ),
        *_bytes("memory of its processes", plain.get("resident_bytes"), total.resident_bytes),
        *_energy(total),
    ]
    return Listing(title="First and last", headings=COSTS, rows=rows)


def _pair(name: str, plain: float | None, recipe: float | None) -> tuple[str, ...]:
    known = [value for value in (plain, recipe) if value is not None]
    places = decimals(known)
    return name, *(UNKNOWN if v is None else number(v, places) for v in (plain, recipe))


def _bytes(name: str, plain: float | None, recipe: float | None) -> list[tuple[str, ...]]:
    """No row where neither is known: a CPU's allocator keeps no peak."""
    known = [value for value in (plain, recipe) if value is not None]
    if not known:
        return []
    unit = choose(known, BYTES)
    scaled = [None if v is None else v / unit.size for v in (plain, recipe)]
    return [_pair(f"{name} ({unit.symbol})", scaled[0], scaled[1])]


def _energy(total: Record) -> list[tuple[str, ...]]:
    plain, recipe = total.baseline_energy_j_per_sample, total.energy_j_per_sample
    known = [value for value in (plain, recipe) if value is not None]
    if not known:
        return [("energy", "no meter to read here", "no meter to read here")]
    unit = choose(known, JOULES)
    scaled = [None if v is None else v / unit.size for v in (plain, recipe)]
    return [_pair(f"energy per sample ({unit.symbol})", scaled[0], scaled[1])]


def left(recipe: Recipe) -> Listing:
    """One row a reason."""
    reasons: dict[str, list[str]] = {}
    for each in recipe.left:
        reasons.setdefault(each.reason, []).append(each.name)
    rows = [(", ".join(names), reason) for reason, names in reasons.items()]
    return Listing(title="Not in the recipe", headings=LEFT, rows=rows)
