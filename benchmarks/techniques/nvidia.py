"""What NVIDIA's GPUs of each generation have; AMD's call themselves "cuda" too."""

from benchmarks.hardware import Hardware

VOLTA, AMPERE = (7, 0), (8, 0)  # compute capabilities


def is_amd(hardware: Hardware) -> bool:
    return bool(hardware.torch_facts.get("hip"))


def too_old(hardware: Hardware, name: str, least: tuple[int, int]) -> str | None:
    """Why `name`, which needs that compute capability, cannot run on every GPU here, or None."""
    for gpu in hardware.gpus:
        if gpu.device == "cuda" and gpu.capability is not None and gpu.capability < least:
            found = dotted(gpu.capability)
            return f"{name} needs compute capability {dotted(least)}, {gpu.name} has {found}"
    return None


def dotted(capability: tuple[int, int]) -> str:
    return ".".join(map(str, capability))
