"""What fits what: drivers and runtimes, kernels and GPUs, torch and torchvision."""

import re

# CUDA compatibility guide, "minor version compatibility": the oldest driver per major release.
OLDEST_DRIVER = {11: "450.80.02", 12: "525.60.13", 13: "580"}
# CUDA programming guide, "arithmetic instructions" and tensor core tables, by capability.
TENSOR_DTYPES = (
    ((10, 0), ("fp16", "bf16", "tf32", "fp8", "fp6", "fp4", "int8")),
    ((8, 9), ("fp16", "bf16", "tf32", "fp8", "int8")),
    ((8, 0), ("fp16", "bf16", "tf32", "int8")),
    ((7, 2), ("fp16", "int8")),
    ((7, 0), ("fp16",)),
)
TORCHVISION_BEHIND = 15  # torch 2.x goes with torchvision 0.(x + 15), since 2.0


def numbers(version: str) -> tuple[int, ...]:
    """The leading numbers of a version: (2, 14, 1) of "2.14.1+cu130"."""
    match = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(int(part) for part in match[0].split(".")) if match else ()


def older(version: str, oldest: str) -> bool:
    """Whether `version` lies before `oldest`; "580" and "580.0" are the same."""
    one, other = numbers(version), numbers(oldest)
    length = max(len(one), len(other))
    return one + (0,) * (length - len(one)) < other + (0,) * (length - len(other))


def oldest_driver(runtime: str) -> str | None:
    """The oldest driver for a CUDA runtime ("13.0"), or None for a release not known here."""
    major = numbers(runtime)[:1]
    return OLDEST_DRIVER.get(major[0]) if major else None


def has_kernels(arch_list: tuple[str, ...], capability: tuple[int, int]) -> bool:
    """Whether a build for `arch_list` runs on a GPU of `capability`.

    Machine code (`sm_86`) runs on the same major version from its minor version on; PTX
    (`compute_80`) is compiled by the driver for anything newer. A suffix binds: `sm_90a` to
    exactly 9.0, `sm_100f` to its family, which is the same major version.
    """
    return any(_runs(arch, capability) for arch in arch_list)


def _runs(arch: str, capability: tuple[int, int]) -> bool:
    match = re.fullmatch(r"(sm|compute)_(\d+)(\d)([af]?)", arch)
    if not match:
        return False
    kind, suffix = match[1], match[4]
    built = (int(match[2]), int(match[3]))
    if suffix == "a":
        return capability == built
    if kind == "compute" and not suffix:
        return capability >= built
    return capability[0] == built[0] and capability >= built


def tensor_dtypes(capability: tuple[int, int], name: str = "") -> tuple[str, ...]:
    """Types that the tensor cores multiply; none where there are no tensor cores."""
    if "GTX 16" in name:  # capability 7.5 as the RTX 20 series, without its tensor cores
        return ()
    return next((dtypes for since, dtypes in TENSOR_DTYPES if capability >= since), ())


def torchvision_for(torch: str) -> str | None:
    """The torchvision series made for this torch ("0.29" for "2.14.1"), or None if unknown."""
    major_minor = numbers(torch)[:2]
    if len(major_minor) < 2 or major_minor[0] != 2:
        return None
    return f"0.{major_minor[1] + TORCHVISION_BEHIND}"
