"""What holds a GPU's clocks down: the driver's bits, in a reader's words."""

# Bits of nvmlClocksEventReasons. The first two are no slowdown: an idle GPU and clocks set by hand.
CLOCK_REASONS = {
    0x001: "idle",
    0x002: "clocks set by an application",
    0x004: "power cap",
    0x008: "hardware slowdown",
    0x010: "sync boost",
    0x020: "thermal (software)",
    0x040: "thermal (hardware)",
    0x080: "power brake",
    0x100: "display clocks",
    0x200: "board limit",
    0x400: "reliability limit",
}
THROTTLING = (0x004, 0x008, 0x020, 0x040, 0x080, 0x200, 0x400)
POWER_LIMIT, THERMAL_LIMIT = 0x004 | 0x080, 0x020 | 0x040


def decode_clock_reasons(bits: int) -> tuple[str, ...]:
    """Names of the set bits; a bit that is not known keeps its number."""
    names = [name for bit, name in CLOCK_REASONS.items() if bits & bit]
    unknown = bits & ~sum(CLOCK_REASONS)
    return (*names, f"unknown (0x{unknown:x})") if unknown else tuple(names)


def throttling(bits: int) -> tuple[str, ...]:
    """Names of those set bits that slow a busy GPU down against its free clocks."""
    return tuple(CLOCK_REASONS[bit] for bit in THROTTLING if bits & bit)
