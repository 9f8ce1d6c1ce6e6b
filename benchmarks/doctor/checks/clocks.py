"""What holds clocks down, and with them every number measured here."""

from benchmarks.doctor.facts import Facts
from benchmarks.doctor.finding import Finding, Level

# These choose their clocks in hardware: their governor "powersave" is the ordinary, dynamic one.
HARDWARE_CLOCKS = ("intel_pstate", "amd-pstate-epp", "amd_pstate_epp")


def governor(facts: Facts) -> Finding | None:
    """A governor that keeps the CPU at, or close to, its lowest clock."""
    chosen, by = facts.host.governor, facts.host.frequency_driver
    if chosen not in ("powersave", "conservative") or by in HARDWARE_CLOCKS:
        return None
    return Finding(
        Level.WARN,
        f"the CPU's frequency governor is {chosen}",
        f"scaling_governor is {chosen} under the driver {by or 'unknown'}: clocks stay low",
        "`sudo cpupower frequency-set -g performance` while measuring",
    )


def cpu_throttled(facts: Facts) -> Finding | None:
    """The CPU got too hot within the seconds in which torch was imported."""
    if not facts.host.throttle_events:
        return None
    return Finding(
        Level.WARN,
        "the CPU is throttling: it is too hot for its clocks",
        f"throttle counters rose by {facts.host.throttle_events} while the doctor looked",
        "cool it or end other load before measuring; a laptop: on mains, on a hard surface",
    )


def gpu_slowed(facts: Facts) -> Finding | None:
    """The driver says that something other than idleness holds a GPU's clocks down."""
    if not facts.driver.slowed:
        return None
    said = (f"{uuid}: {', '.join(reasons)}" for uuid, reasons in facts.driver.slowed.items())
    return Finding(
        Level.WARN,
        "a GPU's clocks are held down",
        "; ".join(said),
        "`nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER` shows limits: improve cooling, raise the "
        "power limit (`sudo nvidia-smi -pl WATTS`), or wait for other load to end",
    )
