"""From the records of both stages to what the gate judges.

The baseline arm is the old environment, the candidate arm the new one; the setting is the same.
"""

from results.controls import measured
from results.gate import Evidence
from results.record import Record


def evidence(
    screened: Record,
    confirmed: Record | None = None,
    *,
    control: bool = False,
    broken: str | None = None,
) -> Evidence:
    """What two records of one cell say; the memory and losses of the later one.

    `control`: both arms ran the old environment. `broken`: why the new environment failed where
    the old one did not, known to whoever started the arms; it counts as a regression. Any other
    cell without ratios is unmeasured. Raises ValueError for records of two cells.
    """
    if confirmed is not None and confirmed.cell != screened.cell:
        raise ValueError(f"records of two cells: {screened.cell} and {confirmed.cell}")
    last = confirmed or screened
    stages = [record for record in (screened, confirmed) if record is not None]
    lacking = next((record for record in stages if not _usable(record)), None)
    unmeasured = None
    if lacking is not None and broken is None:
        unmeasured = f"{lacking.outcome}: {lacking.reason or 'no start was finished'}"
    memory, resident = _memory(last)
    return Evidence(
        cell=screened.cell,
        screening=screened.log_ratios if _usable(screened) else (),
        confirmation=confirmed.log_ratios if confirmed and _usable(confirmed) else (),
        control=control,
        peak_memory_bytes=memory[0],
        old_peak_memory_bytes=memory[1],
        resident_memory=resident,
        losses=last.losses,
        old_losses=last.baseline_losses,
        broken=broken,
        unmeasured=unmeasured,
    )


def _memory(record: Record) -> tuple[tuple[int | None, int | None], bool]:
    """Peaks of the new and the old environment, and whether they are resident memory.

    Allocated memory is better; torch counts none on a CPU.
    """
    allocated = record.peak_memory_bytes, record.baseline_peak_memory_bytes
    if None not in allocated:
        return allocated, False
    arms = (record.telemetry.get(arm, {}) for arm in ("candidate", "baseline"))
    new, old = (arm.get("resident_bytes") for arm in arms)
    return (new, old), True


def _usable(record: Record) -> bool:
    """Whether its ratios are what they are called: not of a cell that was found invalid."""
    return measured(record) and bool(record.log_ratios)
