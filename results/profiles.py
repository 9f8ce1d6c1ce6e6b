"""What profiles found: the costliest operators or kernels, and which file to open."""

from collections.abc import Sequence

from results.columns import Heading
from results.listing import Listing
from results.record import Record
from results.shares import percent
from results.wording import row_name

SHOWN = 5  # of each cell; the record keeps more, the trace all
LONGEST = 60  # characters of a name: templates of kernels fill a page


def profiles(records: Sequence[Record]) -> Listing | None:
    """The list; None where nothing was profiled."""
    profiled = [(record, record.profile) for record in records if record.profile]
    if not profiled:
        return None
    rows, lines = [], []
    for record, found in profiled:
        steps, name = found["steps"], row_name(record)
        for place, entry in enumerate(found["top"][:SHOWN]):
            rows.append(
                [
                    "" if place else name,
                    shown_name(entry["name"]),
                    f"{entry['calls'] / steps:,.0f}",
                    f"{1e3 * entry['self_s'] / steps:,.2f}",
                    percent(entry.get("share")),
                ]
            )
        opened = {"trace": "ui.perfetto.dev", "report": "Nsight Systems"}
        lines += [
            f"{name}: open {found[kind]} in {by}" for kind, by in opened.items() if kind in found
        ]
    return Listing(
        title="Costliest operators",
        headings=[
            Heading("cell", "cell", right=False),
            Heading("operator", "operator or kernel", right=False),
            Heading("calls", "calls a step"),
            Heading("self_ms", "own ms a step"),
            Heading("share", "share"),
        ],
        rows=rows,
        lines=["own: without the operators it calls; share: of the own times of all.", *lines],
    )


def shown_name(name: str) -> str:
    """Without the namespace that nearly all share, and cut where a kernel's template goes on."""
    bare = name.removeprefix("aten::")
    return bare if len(bare) <= LONGEST else bare[: LONGEST - 1] + "…"
