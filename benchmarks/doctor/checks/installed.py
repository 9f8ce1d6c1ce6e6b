"""Are the right packages installed, and do they fit each other?"""

from benchmarks.doctor.compatibility import numbers, older, torchvision_for
from benchmarks.doctor.facts import Facts
from benchmarks.doctor.finding import Finding, Level

CHOOSE = "choose the build for this machine at https://pytorch.org/get-started/locally"
INSTALL = "`python3 -m pip install nox && python3 -m nox -s bench`"
OF_THEIR_OWN = ("torch", "torchvision")  # checks of their own say that these are missing


def torch_missing(facts: Facts) -> Finding | None:
    """There is no torch in this environment."""
    if facts.torch.reason != "not installed":
        return None
    return Finding(
        Level.MEND,
        "PyTorch is not installed",
        f"{facts.packages.executable} (Python {facts.packages.python}) finds no module torch",
        f"{INSTALL} installs it into .venv and measures; or {CHOOSE}",
    )


def torch_broken(facts: Facts) -> Finding | None:
    """torch is there, but importing it fails or kills the process."""
    reason = facts.torch.reason
    if reason is None or reason == "not installed":
        return None
    return Finding(
        Level.MEND,
        "PyTorch is installed but cannot be imported",
        reason,
        f"reinstall it (`{facts.packages.executable} -m pip install --force-reinstall torch "
        f"torchvision`); if that does not help, {CHOOSE}",
    )


def packages_missing(facts: Facts) -> Finding | None:
    """Something else that the suite imports is missing or too old."""
    wrong = {}
    for name, oldest in facts.packages.required.items():
        version = facts.packages.installed.get(name)
        if version is None and name not in OF_THEIR_OWN:
            wrong[name] = "missing"
        elif version is not None and older(version, oldest):
            wrong[name] = f"{version}, needs {oldest}"
    if not wrong:
        return None
    names = " ".join(f'"{name}>={facts.packages.required[name]}"' for name in wrong)
    return Finding(
        Level.MEND,
        "packages that the suite needs are missing or too old",
        ", ".join(f"{name} ({why})" for name, why in wrong.items()),
        f"{INSTALL} installs them into .venv; by hand: "
        f"`{facts.packages.executable} -m pip install {names}`",
    )


def torchvision_broken(facts: Facts) -> Finding | None:
    """torchvision is missing, or was built against another torch and does not import."""
    torch = facts.torch
    if torch.version is None or torch.torchvision_reason is None:
        return None
    fitting = torchvision_for(torch.version)
    return Finding(
        Level.MEND,
        f"torchvision does not work with torch {torch.version}",
        f"import torchvision: {torch.torchvision_reason}",
        "install both together from the same place, so that they were built for each other"
        + (f": torch {_series(torch.version)} goes with torchvision {fitting}" if fitting else ""),
    )


def torchvision_of_another_torch(facts: Facts) -> Finding | None:
    """Both import, yet they are not of the same release: operators may be missing."""
    torch = facts.torch
    if torch.version is None or torch.torchvision is None:
        return None
    fitting = torchvision_for(torch.version)
    if fitting is None or numbers(torch.torchvision)[:2] == numbers(fitting):
        return None
    return Finding(
        Level.WARN,
        "torch and torchvision are of different releases",
        f"torch {torch.version} goes with torchvision {fitting}; {torch.torchvision} is installed",
        f"install torchvision {fitting}, or the torch that {torch.torchvision} was made for",
    )


def devices_not_asked(facts: Facts) -> Finding | None:
    """torch imports, but asking it about devices fails."""
    if facts.torch.version is None or facts.torch.hardware_reason is None:
        return None
    return Finding(
        Level.MEND,
        "PyTorch imports, but cannot say what devices there are",
        facts.torch.hardware_reason,
        "mend what this message names; `python -m benchmarks.hardware` shows the whole of it",
    )


def cpu_only_build(facts: Facts) -> Finding | None:
    """An NVIDIA GPU is here, and a wheel without CUDA."""
    torch, driver = facts.torch, facts.driver
    if torch.version is None or torch.built_for or torch.accelerator:
        return None
    listed = driver.listed.value.gpus if driver.listed.value else ()
    count = len(listed) or len(driver.gpu_nodes) or driver.pci_gpus.get("nvidia", 0)
    if not count:
        return None
    return Finding(
        Level.MEND,
        "this PyTorch is built for the CPU only, and there is an NVIDIA GPU",
        f"torch {torch.version} has no CUDA runtime; NVIDIA GPUs here: {count}",
        f"uninstall torch and torchvision, then {CHOOSE} (a CUDA one)",
    )


def _series(version: str) -> str:
    return ".".join(str(part) for part in numbers(version)[:2])
