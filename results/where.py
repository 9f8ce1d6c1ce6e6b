"""Where the time goes: all that was seen inside cells, for below the tables of a run."""

from collections.abc import Sequence

from results import listing
from results.ceilings import ceilings
from results.listing import Listing
from results.profiles import profiles
from results.record import Record
from results.shares import shares


def looks(records: Sequence[Record]) -> list[Listing]:
    """The lists that have something to say."""
    return [each for make in (shares, ceilings, profiles) if (each := make(records)) is not None]


def where_markdown(records: Sequence[Record]) -> str:
    """A section a list; empty where nobody looked."""
    return "\n".join(map(listing.markdown, looks(records)))


def where_terminal(records: Sequence[Record], width: int, *, colour: bool = False) -> str:
    """As above, for a terminal of `width` characters."""
    lists = looks(records)
    return "".join(listing.terminal(each, width, colour=colour) + "\n" for each in lists)
