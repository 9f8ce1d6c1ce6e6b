"""A recipe in words and numbers."""

from results.listing import Listing
from results.recipe import Left, Recipe, Rung
from results.recipe_table import listings, markdown, terminal
from results.record import Guard, Record
from tests.results.examples import MIB, PLAIN, compared, record

LOSSES: Guard = {
    "name": "parallel_losses",
    "ok": True,
    "detail": "mean of 8 first losses 6.9, baseline 6.9",
}


def total(**given: object) -> Record:
    fields: dict[str, object] = {
        "setting": PLAIN | {"num_workers": 2},
        "guards": [LOSSES],
        "telemetry": {"baseline": {"resident_bytes": 400 * MIB}},
        "baseline_cold_s": 0.5,
        "cold_s": 0.75,
    }
    return compared("workers2", [1.49, 1.5, 1.51, 1.5], **(fields | given))


def recipe(*rungs: Rung, result: Record | None = None, left: tuple[Left, ...] = ()) -> Recipe:
    return Recipe(
        workload="resnet18",
        scale="tiny",
        device="cpu",
        rungs=rungs,
        left=left,
        total=result,
        confirmations=3,
    )


FIRST = Rung(name="workers2", confirmed=compared("workers2", [1.2, 1.2, 1.2, 1.2]))
SECOND = Rung(
    name="fused",
    confirmed=compared("fused", [1.25, 1.25, 1.25, 1.25]),
    dropped="no longer pays beside workers2: 1.00×",
)


def rows_of(page: Listing) -> dict[str, tuple[str, ...]]:
    return {row[0]: tuple(row[1:]) for row in page.rows}


def test_the_ladder_has_each_rung_cumulated_and_the_total_measured_directly() -> None:
    ladder = listings(recipe(FIRST, SECOND, result=total()))[0]
    rows = rows_of(ladder)
    assert rows["+ workers2"][1] == "1.20×"
    assert rows["+ fused"][1] == "1.50×"
    assert rows["+ fused"][-1] == "no: no longer pays beside workers2: 1.00×"
    assert rows["workers2, measured against plain"][0].startswith("1.50× (1.4")
    assert ladder.title == "Recipe for resnet18, tiny, cpu: workers2"


def test_memory_of_first_and_last_and_energy_only_where_it_was_read() -> None:
    costs = rows_of(listings(recipe(FIRST, result=total()))[1])
    assert costs["memory of its processes (MiB)"] == ("400", "812")
    assert costs["energy"] == ("no meter to read here",) * 2
    metered = total(energy_j_per_sample=0.5, baseline_energy_j_per_sample=0.75)
    costs = rows_of(listings(recipe(FIRST, result=metered))[1])
    assert costs["energy per sample (mJ)"] == ("750", "500")


def test_the_loss_check_is_said_either_way() -> None:
    page = markdown(recipe(FIRST, result=total()))
    assert "First losses agree: mean of 8 first losses 6.9, baseline 6.9" in page
    apart = total(guards=[LOSSES | {"ok": False}], outcome="invalid", reason="losses")
    assert "First losses DIFFER" in markdown(recipe(FIRST, result=apart))


def test_a_total_that_is_not_faster_is_not_sold_as_a_gain() -> None:
    unsure = total(verdict="unclear")
    assert "is not shown to be faster as a whole" in markdown(recipe(FIRST, result=unsure))
    failed = record("workers2", outcome="failed", reason="rank 0: killed")
    assert "The recipe as a whole: failed, rank 0: killed" in markdown(recipe(FIRST, result=failed))


def test_nothing_kept_says_so_and_why() -> None:
    left = (Left(name="dp", reason="skipped: no GPU"), Left(name="zero2", reason="skipped: no GPU"))
    page = terminal(recipe(left=left), 100)
    assert "Nothing that could be tried here was shown to beat the plain setting" in page
    assert "dp, zero2" in page
