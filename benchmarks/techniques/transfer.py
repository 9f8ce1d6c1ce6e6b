"""How batches come from the loader to the device, and what the loader itself costs."""

from collections.abc import Sequence

from benchmarks.hardware import Hardware
from benchmarks.setting import Setting
from benchmarks.techniques.loading import workers
from benchmarks.techniques.technique import Evidence, Finding, Need, Technique

TWO_WORKERS = workers(2)
EPOCH_STEPS = 4  # so short that several epochs end in every block: what an end costs is the same


def techniques(cores: int) -> Sequence[Technique]:
    return (
        *(workers(count) for count in worker_counts(cores)),
        PREFETCH_4,
        PERSISTENT_WORKERS,
        PIN_MEMORY,
        PINNED_NON_BLOCKING,
        COPY_STREAM,
    )


def worker_counts(cores: int) -> list[int]:
    """1, 2, 4, ... and the cores there are: the knee lies between two of them."""
    doubled = [2**power for power in range(cores.bit_length()) if 2**power < cores]
    return [*doubled, cores]


# Checks


def _pinned(setting: Setting, evidence: Evidence) -> Finding | None:
    seen, pinned = evidence.get("batches_looked_at", 0), evidence.get("pinned_batches", 0)
    if not seen:
        return None
    return pinned == (seen if setting.pin_memory else 0), f"{pinned} of {seen} batches were pinned"


def _copies_wait(setting: Setting, evidence: Evidence) -> Finding | None:
    waits = evidence.get("copy_waits")
    if waits is None:
        return None
    said = "waits until a batch is copied" if waits else "goes on while a batch is copied"
    return waits != setting.non_blocking, f"the host {said}"


def _copied_aside(setting: Setting, evidence: Evidence) -> Finding | None:
    aside = evidence.get("copied_aside")
    if aside is None:
        return None
    return (aside > 0) == setting.copy_stream, f"{aside} batches copied on another stream"


def _batches_ahead(setting: Setting, evidence: Evidence) -> Finding | None:
    """Said in the middle of an epoch only: at its end there is less to load."""
    ahead = evidence.get("batches_ahead")
    if ahead is None or setting.epoch_steps:
        return None
    wanted = setting.num_workers * setting.prefetch_factor
    return ahead == wanted, f"{ahead} batches ordered ahead of the one in use"


def _epochs(setting: Setting, evidence: Evidence) -> Finding | None:
    epochs, processes = evidence.get("epochs"), evidence.get("loader_processes")
    if epochs is None or processes is None:
        return None
    said = f"{processes} loader processes started in {epochs} epochs"
    if not setting.epoch_steps:
        return (epochs, processes) == (1, setting.num_workers), said
    started = 1 if setting.persistent_workers else epochs
    return epochs > 1 and processes == started * setting.num_workers, said


# Needs


def _memory_of_its_own(name: str) -> Need:
    def need(hardware: Hardware, setting: Setting) -> str | None:
        if setting.device == "cpu":
            return f"{name} needs a GPU to copy to, cpu is none"
        if setting.device == "mps":
            return f"{name} needs a GPU with memory of its own, mps shares the CPU's"
        return None

    return need


def _loader_workers(name: str) -> Need:
    def need(hardware: Hardware, setting: Setting) -> str | None:
        return None if setting.num_workers else f"{name} needs loader workers, there are 0"

    return need


# Techniques

PIN_MEMORY = Technique(
    name="pin_memory",
    change={"pin_memory": True},
    why="a GPU copies from page-locked memory by itself, from any other through a detour",
    api="DataLoader(pin_memory=True)",
    on=(TWO_WORKERS,),
    needs=_memory_of_its_own("pin_memory"),
    checks={"pinned": _pinned},
)
PINNED_NON_BLOCKING = Technique(
    name="pinned_non_blocking",
    change={"pin_memory": True, "non_blocking": True},
    why="Python goes on queueing kernels while the batch is copied; pays where steps are short",
    api="DataLoader(pin_memory=True), tensor.to(device, non_blocking=True)",
    on=(TWO_WORKERS,),
    needs=_memory_of_its_own("pinned_non_blocking"),
    checks={"pinned": _pinned, "copies_wait": _copies_wait},
)
COPY_STREAM = Technique(
    name="copy_stream",
    change={"pin_memory": True, "non_blocking": True, "copy_stream": True},
    why="the next batch is copied while this one computes; pays where batches are large",
    api="torch.Stream, Stream.wait_stream, Tensor.record_stream",
    on=(TWO_WORKERS,),
    needs=_memory_of_its_own("copy_stream"),
    checks={"pinned": _pinned, "copies_wait": _copies_wait, "copied_aside": _copied_aside},
)
PREFETCH_4 = Technique(
    name="prefetch4",
    change={"prefetch_factor": 4},
    why="a longer queue evens out batches that take unequally long to load",
    api="DataLoader(prefetch_factor=4)",
    on=(TWO_WORKERS,),
    needs=_loader_workers("prefetch4"),
    checks={"batches_ahead": _batches_ahead},
)
SHORT_EPOCHS = Technique(
    name=f"epochs_of_{EPOCH_STEPS}_steps",
    change={"epoch_steps": EPOCH_STEPS},
    why="a data set so small that epochs end all the time: what workers then cost shows",
    api="Sampler",
    checks={"epochs": _epochs},
)
PERSISTENT_WORKERS = Technique(
    name="persistent_workers",
    change={"persistent_workers": True},
    why="workers live on into the next epoch instead of being started anew; pays in short epochs",
    api="DataLoader(persistent_workers=True)",
    on=(TWO_WORKERS, SHORT_EPOCHS),
    needs=_loader_workers("persistent_workers"),
    checks={"epochs": _epochs},
)
