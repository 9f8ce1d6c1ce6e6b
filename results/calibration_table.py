"""A calibration as two tables: what the gate catches, and what more starts would show."""

from results import listing
from results.calibration import Calibration, Detection, Spread
from results.columns import Heading
from results.listing import Listing
from results.units import duration
from results.wording import UNKNOWN, percent

CAUGHT = (
    Heading("extra", "extra work"),
    Heading("expected", "expected ratio"),
    Heading("measured", "measured ratio"),
    Heading("starts", "starts"),
    Heading("caught", "caught by the gate"),
)


def markdown(found: Calibration) -> str:
    return "\n".join(listing.markdown(each) for each in (_caught(found), _spread(found)))


def terminal(found: Calibration, width: int, *, colour: bool = False) -> str:
    tables = (_caught(found), _spread(found))
    return "\n".join(listing.terminal(each, width, colour=colour) for each in tables)


def _caught(found: Calibration) -> Listing:
    low, high = found.false_alarm_interval
    return Listing(
        title=f"What {found.machine_words} can tell",
        headings=CAUGHT,
        rows=[_detection(each) for each in found.detections],
        lines=[
            f"False alarms: {found.false_alarms} of {found.gates} gates of unchanged code "
            f"({percent(low)} to {percent(high)}, 95% Wilson interval), each of {found.cells} "
            f"cells on starts of its own; {found.inconclusive} more were inconclusive.",
            f"A gate took {duration(found.gates_s / found.gates)}, "
            f"{found.screening_starts} starts a cell and {found.confirming_starts} to confirm; "
            f"it forgives {percent(found.margin)}.",
            "caught: share of gates drawn at random from the measured starts, which they share.",
            f"Took {duration(found.wall_s)}.",
        ],
    )


def _detection(each: Detection) -> tuple[str, ...]:
    return (
        percent(each.extra_work),
        f"{1 / (1 + each.extra_work):.3f}",
        f"{each.measured_ratio:.3f}",
        str(each.starts),
        UNKNOWN if each.share is None else f"{percent(each.share)} of {each.gates}",
    )


def _spread(found: Calibration) -> Listing:
    counts = list(dict.fromkeys(count for each in found.spreads for count in each.detectable))
    return Listing(
        title="Smallest slowdown that the gate finds",
        headings=(
            Heading("cell", "cell", right=False),
            Heading("sd", "SD between starts"),
            *(Heading(count, f"{count} starts") for count in counts),
        ),
        rows=[_cell(each, counts) for each in found.spreads],
        lines=[
            f"With a chance of {percent(found.power)}, where as many starts screen as confirm; "
            "in brackets the time that one of these stages takes.",
        ],
    )


def _cell(each: Spread, counts: list[str]) -> tuple[str, ...]:
    return (
        each.cell,
        percent(each.sd),
        *(_smallest(each.detectable.get(count), int(count) * each.start_s) for count in counts),
    )


def _smallest(slowdown: float | None, seconds: float) -> str:
    found = UNKNOWN if slowdown is None else f"−{percent(slowdown)}"
    return f"{found} ({duration(seconds)})"
