"""How the work is shared between devices."""

from benchmarks.hardware import Hardware
from benchmarks.setting import Setting
from benchmarks.techniques.technique import Evidence, Finding, Technique

WRAPPERS = {"single": "none", "dp": "DataParallel", "ddp": "DistributedDataParallel"}


def _strategy(setting: Setting, evidence: Evidence) -> Finding:
    replicas = evidence["visible_devices"] if setting.parallel == "dp" else setting.world_size
    seen = (evidence["strategy"], evidence["replicas"])
    said = f"strategy {evidence['strategy']} with {evidence['replicas']} replicas"
    return seen == (WRAPPERS[setting.strategy], replicas), said


def _equal_parameters(setting: Setting, evidence: Evidence) -> Finding | None:
    if setting.world_size == 1:
        return None
    spread = evidence["parameter_spread"]
    return spread == 0.0, f"largest difference of parameter sums between ranks {spread:g}"


SINGLE = Technique(
    name="single",
    change={"parallel": "single"},
    why="one process, one device",
    api="-",
    checks={"strategy": _strategy},
)


def _two_gpus(hardware: Hardware, setting: Setting) -> str | None:
    found = hardware.devices.get("cuda", 0)
    if found < 2:
        return f"dp needs 2 GPUs, found {found}"
    return None if setting.device == "cuda" else f"dp needs 2 GPUs, {setting.device} is none"


DP = Technique(
    name="dp",
    change={"parallel": "dp"},
    why="every GPU from one process: no launcher, but its Python and GPU 0 become the bottleneck",
    api="torch.nn.DataParallel",
    needs=_two_gpus,
    checks={"strategy": _strategy},
    loss_tolerance=0.25,  # sees more samples a step than the baseline, other ones
)


def ddp(ranks: int) -> Technique:
    """One process a device, gradients averaged while backward still runs."""
    return Technique(
        name=f"ddp{ranks}",
        change={"parallel": f"ddp{ranks}"},
        why="one process per device, gradients averaged while backward still runs",
        api="torch.nn.parallel.DistributedDataParallel, torchrun",
        needs=ranks_fit,
        checks={"strategy": _strategy, "equal_parameters": _equal_parameters},
        loss_tolerance=0.25,
        first_step_s=60.0,
    )


def ranks_fit(hardware: Hardware, setting: Setting) -> str | None:
    """Every rank needs a core or a device of its own."""
    name, ranks = setting.parallel, setting.world_size
    if setting.device == "cpu":
        cores = hardware.usable_cores
        return None if ranks <= cores else f"{name} needs {ranks} CPU cores, found {cores}"
    if setting.device == "mps":
        return f"{name} needs a torch.distributed backend for mps, there is none"
    found = hardware.devices.get(setting.device, 0)
    return None if ranks <= found else f"{name} needs {ranks} GPUs, found {found}"
