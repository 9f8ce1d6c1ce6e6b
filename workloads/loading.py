"""From what a user types to a workload: a catalog name, or path/to/file.py:name."""

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from workloads.catalog import CATALOG
from workloads.workload import Workload, WorkloadError


def load(reference: str) -> Workload:
    """The workload that `reference` names; a user's file is imported, and with it what it imports.

    Raises:
        WorkloadError: no such name, file or attribute, or the file does not import.
    """
    if reference in CATALOG:
        return CATALOG[reference]
    file, separator, name = reference.rpartition(":")  # from the right: C:\mine.py:workload
    if not separator or not file.endswith(".py"):
        raise WorkloadError(
            f"no workload named '{reference}': choose from {', '.join(CATALOG)}, "
            "or give path/to/file.py:name"
        )
    found = getattr(_import(Path(file)), name, None)
    if not isinstance(found, Workload):
        problem = f"no '{name}'" if found is None else f"'{name}' is a {type(found).__name__}"
        raise WorkloadError(f"{file}: {problem}; want {name} = workloads.Workload(...)")
    return found


def _import(path: Path) -> ModuleType:
    """The module in `path`, under its plain name, so that spawned loader workers can import it.

    Its folder goes to the end of sys.path: what stands beside it can be imported, and nothing
    there (a folder called results, say) gets in the way of the suite's own modules.
    """
    path = path.resolve()
    if not path.is_file():
        raise WorkloadError(f"workload file {path} does not exist")
    name = path.stem
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    if (loaded := sys.modules.get(name)) is not None and _is_from(
        getattr(loaded, "__file__", None), path
    ):
        return loaded
    importlib.invalidate_caches()  # the file may be younger than the last look at its folder
    spec = importlib.util.find_spec(name) if "." not in name else None
    if spec is None or spec.loader is None or not _is_from(spec.origin, path):
        raise WorkloadError(
            f"cannot import {path}: another module is called '{name}', or none can be; "
            "rename the file"
        )
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        said = " ".join(str(error).split())
        raise WorkloadError(f"{path} does not import: {type(error).__name__}: {said}") from error
    return module


def _is_from(origin: str | None, path: Path) -> bool:
    return origin is not None and Path(origin).resolve() == path
