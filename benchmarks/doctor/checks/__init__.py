"""Every check, `Facts -> Finding | None`, in the order in which a reader should mend things."""

from collections.abc import Callable

from benchmarks.doctor.checks import clocks, compiling, gpus, installed, limits, reach
from benchmarks.doctor.facts import Facts
from benchmarks.doctor.finding import Finding, Level

Check = Callable[[Facts], Finding | None]

# Why a GPU that is there cannot be used, the most fundamental cause first.
GPU_CAUSES: tuple[Check, ...] = (
    installed.cpu_only_build,
    reach.container_without_gpus,
    reach.driver_not_loaded,
    reach.no_device_node,
    reach.no_permission,
    reach.no_rocm_node,
    gpus.driver_too_old,
    gpus.driver_unusable,
    gpus.hidden,
    gpus.too_new_or_too_old,
)
CHECKS: tuple[Check, ...] = (
    installed.torch_missing,
    installed.torch_broken,
    installed.packages_missing,
    installed.torchvision_broken,
    installed.torchvision_of_another_torch,
    installed.devices_not_asked,
    *GPU_CAUSES,
    reach.no_gpu_in_sight,
    gpus.partly_hidden,
    gpus.no_peer_access,
    gpus.no_nccl,
    limits.no_shared_memory,
    limits.little_shared_memory,
    limits.few_file_handles,
    clocks.governor,
    clocks.cpu_throttled,
    clocks.gpu_slowed,
    compiling.no_cxx,
    compiling.no_cc,
    compiling.no_triton,
    compiling.no_headers,
)


def diagnose(facts: Facts) -> list[Finding]:
    """What is wrong here, what must be mended first; a GPU never fails without a finding."""
    findings = [finding for check in CHECKS if (finding := check(facts))]
    if not any(check(facts) for check in GPU_CAUSES) and (rest := gpus.unexplained(facts)):
        findings.append(rest)
    return sorted(findings, key=lambda finding: finding.level is not Level.MEND)
