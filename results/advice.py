"""What to turn on here: one sentence a workload, no surer than its numbers."""

from collections import Counter
from collections.abc import Sequence

from results import wording
from results.controls import against_plain, is_control, measured, missed, shown_faster
from results.record import Record


def advice(records: Sequence[Record]) -> str:
    """The advice for one workload's records, as text without markup.

    Recommends on the device that trains fastest, the simplest setting among those whose
    intervals overlap the best one's, and only one that is shown to be faster.
    """
    comparable = against_plain(records)
    tried = [record for record in comparable if measured(record) and not is_control(record)]
    device = _fastest_device(tried)
    here = [record for record in tried if _stays_on(record, device)]
    there = [record for record in tried if record not in here and _arrives_on(record, device)]
    faster = [record for record in here if shown_faster(record)]
    if not tried:
        sentence = _nothing_against_plain(records)
    elif faster:
        sentence = _recommend(faster)
    elif here:
        sentence = _nothing_faster(here)
    else:
        sentence = ""
    moved = [record for record in there if shown_faster(record)]
    if moved:
        best = max(moved, key=_speedup)
        whole = f"{device} trains {_interval(best)} as fast as {best.baseline.get('device')}"
        sentence = f"{whole}; there, {sentence}" if sentence else f"{whole}."
    return f"{_capital(sentence)}{_doubt(records)}"


def plain_and_best(records: Sequence[Record]) -> list[Record]:
    """Of each workload and device: the control, and the setting that the advice would pick."""
    groups: dict[tuple[str, object], list[Record]] = {}
    for record in against_plain([r for r in records if r.goal == "throughput"]):
        if measured(record) and record.outcome == "ok" and _same_device(record):
            groups.setdefault((record.workload, record.setting.get("device")), []).append(record)
    found = []
    for group in groups.values():
        found += [record for record in group if is_control(record)]
        faster = [r for r in group if r.verdict == "faster" and not is_control(r)]
        found += [_simplest_of_the_best(faster)] if faster else []
    return found


def _same_device(record: Record) -> bool:
    return record.setting.get("device") == record.baseline.get("device")


def _simplest_of_the_best(faster: Sequence[Record]) -> Record:
    best = max(faster, key=_speedup)
    rivals = [record for record in faster if _high(record) >= _low(best)]
    return min(rivals, key=lambda record: (changes(record), -_speedup(record)))


def _recommend(faster: Sequence[Record]) -> str:
    best = max(faster, key=_speedup)
    chosen = _simplest_of_the_best(faster)
    sentence = f"{chosen.technique} trains {_interval(chosen)} as fast as the plain setting"
    if chosen.world_size is not None and chosen.world_size > 1:
        sentence += f", on {chosen.world_size} ranks"
        if chosen.batch is not None:
            pipeline = str(chosen.setting.get("parallel", "")).startswith("pp")
            sharers = 1 if pipeline else chosen.world_size  # stages work on the same samples
            sentence += f" with a global batch of {chosen.batch * sharers}"
    if chosen is not best:
        sentence += f"; {best.technique} at {_interval(best)} is not shown to be better"
    return sentence + "."


def _nothing_against_plain(records: Sequence[Record]) -> str:
    tried = [record for record in records if record.on and measured(record)]
    if not tried:
        return _nothing_measured(records)
    faster = [record for record in tried if shown_faster(record)]
    if not faster:
        return _nothing_faster(tried, "what it is on")
    best = max(faster, key=_speedup)
    alone = f"{best.technique} trains {_interval(best)} as fast as {best.on} alone"
    return f"{alone}; nothing was compared with the plain setting."


def _nothing_faster(tried: Sequence[Record], rival: str = "the plain setting") -> str:
    counts = Counter(record.verdict or "without verdict" for record in tried)
    order = [*("same", "slower", "unclear", "faster"), "without verdict"]
    found = [f"{counts[verdict]} {verdict}" for verdict in order if counts[verdict]]
    sentence = f"nothing measured here beats {rival} ({', '.join(found)})"
    unclear = [record for record in tried if record.verdict == "unclear"]
    if unclear:
        hopeful = max(unclear, key=_high)
        if hopeful.speedup_high is None:
            sentence += f"; {hopeful.technique} needs more starts to tell"
        else:
            # Only a gain can still hide here, and its bound is worth knowing.
            sentence += (
                f"; {hopeful.technique} might still be up to "
                f"{hopeful.speedup_high:.2f}× as fast, more starts would tell"
            )
    return sentence + "."


def _nothing_measured(records: Sequence[Record]) -> str:
    counts = Counter(record.outcome for record in records if not is_control(record))
    if not counts:
        return "only the control was measured, no setting to compare."
    found = [f"{count} {wording.outcome(name)}" for name, count in counts.items()]
    return f"no setting could be compared here: {wording.listed(found)}."


def _doubt(records: Sequence[Record]) -> str:
    wrong = missed(records)
    if not wrong:
        return ""
    worst = max(wrong, key=lambda record: abs(_speedup(record) - 1))
    devices = {record.setting.get("device") for record in records}
    where = f" on {worst.setting.get('device')}" if len(devices) > 1 else ""
    return (
        f" But the control{where} reads {_interval(worst)} instead of 1: "
        "this run is noisy, take it as a hint and measure again on a quieter machine."
    )


def changes(record: Record) -> int:
    """How many knobs the setting turns: its price in things to understand."""
    knobs = {*record.setting, *record.baseline}
    turned = sum(record.setting.get(knob) != record.baseline.get(knob) for knob in knobs)
    return turned or record.technique.count("+") + 1


def _fastest_device(tried: Sequence[Record]) -> object:
    rated = [record for record in tried if record.samples_per_s is not None] or list(tried)
    best = max(rated, key=lambda record: record.samples_per_s or 0.0, default=None)
    return None if best is None else best.setting.get("device")


def _stays_on(record: Record, device: object) -> bool:
    return record.setting.get("device") == device == record.baseline.get("device")


def _arrives_on(record: Record, device: object) -> bool:
    return record.setting.get("device") == device != record.baseline.get("device")


def _interval(record: Record) -> str:
    return wording.speedup(record, wording.places([record]))


def _speedup(record: Record) -> float:
    return record.speedup if record.speedup is not None else 0.0


def _low(record: Record) -> float:
    return record.speedup_low if record.speedup_low is not None else 0.0


def _high(record: Record) -> float:
    return record.speedup_high if record.speedup_high is not None else float("inf")


def _capital(sentence: str) -> str:
    """A sentence that starts with a word starts large; a setting's name is spelled as it is."""
    starts_with_word = sentence.startswith(("nothing", "no setting", "only"))
    return sentence[:1].upper() + sentence[1:] if starts_with_word else sentence
