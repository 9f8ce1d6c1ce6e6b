"""Where a step's time goes: one list over the cells of a run that were looked into."""

from collections.abc import Mapping, Sequence
from typing import Any

from results.columns import Heading
from results.listing import Listing
from results.record import Record
from results.wording import UNKNOWN, row_name

PARTS = {
    "data": "data",
    "copy": "copy",
    "forward": "forward",
    "backward": "backward",
    "optimizer": "optimizer",
    "communication": "exposed comm.",
    "other": "other",
}
WORTH_A_COLUMN = 0.005  # of a step
MOVES = ("scatter", "replicate", "gather")  # DataParallel's


def shares(records: Sequence[Record]) -> Listing | None:
    """The list; None where nothing was attributed."""
    looked = [(record, record.attribution) for record in records if record.attribution]
    if not looked:
        return None
    parts_of = [_shares(found) for _, found in looked]
    parts = [part for part in PARTS if any(_is_worth_a_column(each, part) for each in parts_of)]
    return Listing(
        title="Where a step's time goes",
        headings=[
            Heading("cell", "cell", right=False),
            *(Heading(part, PARTS[part]) for part in parts),
        ],
        rows=[
            [row_name(record), *(percent(each.get(part)) for part in parts)]
            for (record, _), each in zip(looked, parts_of, strict=True)
        ],
        lines=[
            _legend(parts),
            *(line for record, found in looked for line in _lines(record, found)),
        ],
    )


def percent(share: float | None) -> str:
    """A share as a reader's percentage."""
    return UNKNOWN if share is None else f"{share:.0%}"


def _is_worth_a_column(shares: Mapping[str, float | None], part: str) -> bool:
    """What every cell lacks has none; exposed communication has one as soon as ranks could talk."""
    share = shares.get(part, 0.0)
    return (
        share is None or share >= WORTH_A_COLUMN or (part == "communication" and "ranks" in shares)
    )


def _shares(found: Mapping[str, Any]) -> dict[str, float | None]:
    step_s = found.get("step_s")
    if not step_s:
        return dict.fromkeys(PARTS)
    seconds = {part: found.get(f"{part}_s") for part in (*PARTS, *MOVES)}
    shares = {part: None if value is None else value / step_s for part, value in seconds.items()}
    return shares | ({"ranks": None} if "imbalance" in found else {})


def _legend(parts: Sequence[str]) -> str:
    meaning = {
        "data": "data: waiting for the loader",
        "copy": "copy: to the device",
        "communication": "exposed comm.: exchange that computing does not hide, "
        "and waiting for other ranks",
        "other": "other: whatever lies between",
    }
    said = [text for part, text in meaning.items() if part in parts]
    return "; ".join(["Shares of a step, taken in steps of their own", *said]) + "."


def _lines(record: Record, found: Mapping[str, Any]) -> list[str]:
    lines, name = [], row_name(record)
    if found.get("imbalance"):
        lines.append(
            f"{name}: rank {found.get('slowest_rank')} is the slowest, its own work takes "
            f"{found['imbalance'] - 1:.1%} longer than the mean of the ranks'."
        )
    if found.get("scatter_s") is not None and found.get("step_s"):
        moves = ", ".join(f"{move} {found[f'{move}_s'] / found['step_s']:.0%}" for move in MOVES)
        lines.append(f"{name}: of its exposed communication, {moves} of a step.")
    if found.get("communication_reason"):
        lines.append(f"{name}: exposed comm. is unknown, {found['communication_reason']}.")
    return lines
