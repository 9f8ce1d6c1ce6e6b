"""How many CUDA devices a process may see: CUDA_VISIBLE_DEVICES applied to what the driver has.

CUDA itself would answer exactly, but asking it makes a context in the process that asks, and
pytest's process must stay clean. The rules are those of the CUDA programming guide.
"""

from collections.abc import Sequence

VARIABLE = "CUDA_VISIBLE_DEVICES"


def count_visible(setting: str | None, gpus: Sequence[str], migs: Sequence[str] = ()) -> int:
    """Number of CUDA devices left by `setting`, the variable's value or None where it is unset.

    `gpus` and `migs` are the UUIDs that the driver lists (`GPU-...`, `MIG-...`). Entries are
    indices, UUIDs, or unambiguous beginnings of UUIDs. The list ends at the first entry that names
    nothing (so "-1" and "" leave none), and a device named twice leaves none at all. A process
    can use one MIG instance at most, whatever the list says.
    """
    if setting is None:
        return len(gpus)
    chosen: list[str] = []
    for entry in setting.split(","):
        device = _named(entry.strip(), gpus, migs)
        if device is None:
            break
        if device in chosen:
            return 0
        chosen.append(device)
        if device.startswith("MIG-"):
            return 1
    return len(chosen)


def _named(entry: str, gpus: Sequence[str], migs: Sequence[str]) -> str | None:
    if entry.isdecimal():
        index = int(entry)
        return gpus[index] if index < len(gpus) else None
    if entry.startswith("MIG-"):
        return _unambiguous(entry, migs)
    if entry.startswith("GPU-"):
        return _unambiguous(entry, gpus)
    return None


def _unambiguous(entry: str, uuids: Sequence[str]) -> str | None:
    matches = [uuid for uuid in uuids if uuid.lower().startswith(entry.lower())]
    return matches[0] if len(matches) == 1 else None
