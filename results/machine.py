"""What a reader of a table must know about where it was measured, out of environment.json.

A fact that is not there (an older run, a machine that does not tell) is left out.
"""

from collections.abc import Iterator, Mapping
from typing import Any

GIB = 1 << 30


def machine(environment: Mapping[str, Any]) -> str:
    """The machine in a few words: its GPUs, or without any its CPU."""
    names = [str(gpu["name"]) for gpu in _gpus(environment) if gpu.get("name")]
    if names:
        kinds = dict.fromkeys(names)
        return ", ".join(f"{names.count(name)}× {name}" for name in kinds)
    cores = _at(environment, "cpu.usable_cores")
    model = str(_at(environment, "cpu.model") or "an unnamed CPU")
    return model if cores is None else f"{model} ({cores} usable cores)"


def facts(environment: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What a number depends on first, as pairs of a name and a value."""
    return list(_facts(environment))


def _facts(environment: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if command := _at(environment, "command"):
        yield "command", str(command)
    if _gpus(environment) and (model := _at(environment, "cpu.model")):
        yield "CPU", f"{model} ({_at(environment, 'cpu.usable_cores')} usable cores)"
    memory = _at(environment, "memory_bytes")
    if isinstance(memory, int | float):
        yield "memory", f"{memory / GIB:.1f} GiB"
    versions = [
        f"{name} {value}"
        for name, path in (
            ("torch", "torch"),
            ("CUDA", "cuda"),
            ("driver", "driver"),
            ("Python", "python"),
        )
        if (value := _at(environment, path))
    ]
    if versions:
        yield "software", ", ".join(versions)
    if revision := _at(environment, "git.revision"):
        changed = " with uncommitted changes" if _at(environment, "git.dirty") else ""
        yield "revision", f"{str(revision)[:12]}{changed}"


def _gpus(environment: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    found = environment.get("gpus")
    return [gpu for gpu in found if isinstance(gpu, Mapping)] if isinstance(found, list) else []


def _at(environment: Mapping[str, Any], path: str) -> Any:
    """The value at a dotted path, None where there is none."""
    value: Any = environment
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value
