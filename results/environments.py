"""What differs between the environments of two runs, of the things that change a speed.

Where and when a run was started, its name and its options of rigour are left out: they change how
sure a figure is, not the figure.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

# Paths into environment.json; a mapping counts key by key.
MATTERS = (
    ("machine", "machine"),
    ("CPU", "cpu"),
    ("memory", "memory_bytes"),
    ("memory limit", "cgroup_memory_bytes"),
    ("GPUs", "gpus"),
    ("accelerator", "accelerator"),
    ("torch", "torch"),
    ("CUDA", "cuda"),
    ("cuDNN", "cudnn"),
    ("NCCL", "nccl"),
    ("driver", "driver"),
    ("Python", "python"),
    ("OS", "os"),
    ("package", "packages"),
    ("compiler", "compilers"),
    ("torch setting", "torch_settings"),
    ("variable", "allocator_variables"),
    ("variable", "variables"),
    ("images", "options.images"),
    ("text", "options.text"),
)
MEMORY_NOISE = 0.05  # what a kernel keeps for itself differs from boot to boot
LONGEST = 60


def differences(base: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Lines like "torch: 2.13.0 → 2.14.1"; none where nothing that matters differs.

    What only one of them knows counts as a difference, with "unknown" for the other: an older run
    may not have looked. Two empty environments differ in that nobody knows.
    """
    if not base or not new:
        which = "both runs" if not base and not new else "the base" if not base else "the new run"
        return [f"environment: unknown for {which}"]
    return [
        f"{name}: {_word(before)} → {_word(after)}"
        for title, path in MATTERS
        for name, before, after in _compared(title, path, _at(base, path), _at(new, path))
    ]


def revisions(base: Mapping[str, Any], new: Mapping[str, Any]) -> str | None:
    """The two git revisions, where they differ: usually the reason for comparing."""
    words = [_revision(each) for each in (base, new)]
    return None if words[0] == words[1] else f"revision: {words[0]} → {words[1]}"


def _revision(environment: Mapping[str, Any]) -> str:
    found = _at(environment, "git.revision")
    changed = " with uncommitted changes" if _at(environment, "git.dirty") else ""
    return f"{str(found)[:12]}{changed}" if found else "unknown"


def _compared(name: str, path: str, before: Any, after: Any) -> Iterator[tuple[str, Any, Any]]:
    before, after = _numbered(before), _numbered(after)
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in dict.fromkeys([*before, *after]):
            yield from _compared(f"{name} {key}", path, before.get(key), after.get(key))
    elif before != after and not (path == "memory_bytes" and _close(before, after)):
        yield name, before, after


def _numbered(value: Any) -> Any:
    """A list of objects (GPUs) as an object, so that what differs is one property of one GPU."""
    if isinstance(value, list) and all(isinstance(each, Mapping) for each in value):
        return {str(place): each for place, each in enumerate(value)}
    return value


def _close(before: Any, after: Any) -> bool:
    if not isinstance(before, int | float) or not isinstance(after, int | float):
        return False
    return abs(after - before) <= MEMORY_NOISE * max(abs(before), abs(after))


def _word(value: Any) -> str:
    if value is None:
        return "unknown"
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _at(environment: Mapping[str, Any], path: str) -> Any:
    value: Any = environment
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value
