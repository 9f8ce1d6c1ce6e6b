"""What runs inside an arm: its leader, its ranks, and the clock that times their blocks.

Rank 0 takes orders from pytest and passes them on to the other ranks, so that all of them do the
same steps. Only in a rank is anything timed, and never across a message.

A job is JSON: workload, scale, setting, cache, images, text (as in `Source`), cores, seed,
warm_up_s, port and token (where rank 0 reports), log and fault (paths), compiled (a path where
torch.compile keeps its kernels, or null: where it usually does), memory_bytes (of each process, or
null: no limit). With task "prepare" there is no training, only its data is made.
"""

import json
import multiprocessing.util
import os
import sys
import tempfile
import time
import traceback
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch

import workloads
from benchmarks.engine.arm import describe_status
from benchmarks.engine.channel import Channel, ChannelClosed
from benchmarks.ranks.orders import Orders
from benchmarks.setting import Setting
from benchmarks.training import Place, Training
from benchmarks.training.preprocessing import data_options
from benchmarks.training.unsuited import UnsuitedError

Job = dict[str, Any]
SETTLED = 0.05  # relative change between warm-up blocks
WARM_UP_BLOCK_S = 0.1
AGENT_NOTICES_S = 0.5  # it looks every 0.1 s: a rank that a signal ended is found before the others
PATIENCE = timedelta(days=1)  # ranks wait for orders as long as it takes: limits are pytest's


def run_arm(job: Job) -> int:
    """The leader: this process itself for one rank, else torch's elastic agent over the ranks."""
    redirect_output(job["log"])
    limit_memory(job.get("memory_bytes"))
    keep_sockets_in(Path(job["log"]).parent)
    if job.get("compiled"):
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = job["compiled"]
    if job.get("task") == "prepare":
        return make_data(job)
    world = Setting.from_dict(job["setting"]).world_size
    if world == 1:
        return run_rank(job)
    launch_ranks(job, world)
    return 0


def make_data(job: Job) -> int:
    """No training: only what is generated once, so that no measured arm has to make it."""
    try:
        workload = workloads.load(job["workload"])
        options = data_options(Setting.from_dict(job["setting"]))
        workload.prepare(workload.scale(job["scale"]), source_from(job), **options)
    except BaseException as error:
        record_fault(Path(job["fault"]), error)
        return 1
    return 0


def limit_memory(own_bytes: int | None) -> None:
    """Of each process of the arm: what it allocates, not the libraries that it shares."""
    if own_bytes is not None:
        import resource  # there is none on Windows

        resource.setrlimit(resource.RLIMIT_DATA, (own_bytes, own_bytes))


def keep_sockets_in(folder: Path) -> None:
    """Where loader workers hand over batches: a killed arm's must go with its other files.

    Not by TMPDIR, where compilers keep what later arms are to find. A socket's path has 104 bytes
    at most, and its name and folder below this one take 32.
    """
    if len(os.fsencode(folder)) > 70:
        return
    usual, tempfile.tempdir = tempfile.tempdir, str(folder)
    multiprocessing.util.get_temp_dir()  # made now, kept by this process and its children
    tempfile.tempdir = usual


def redirect_output(path: str) -> None:
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(log, stream)
    os.close(log)


def launch_ranks(job: Job, world: int) -> None:
    """As torchrun does it, without its second import of torch: the ranks are forked from here."""
    from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"  # the agent asks for GPUs before it forks
    config = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=world,
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",
        local_addr="localhost",
        start_method="fork" if sys.platform == "linux" else "spawn",
        max_restarts=0,
        shutdown_timeout=1,
        logs_specs=DefaultLogsSpecs(log_dir=str(Path(job["fault"]).parent)),
    )
    try:
        elastic_launch(config, run_rank)(job)
    except ChildFailedError as error:
        rank, failure = error.get_first_failure()
        if failure.exitcode < 0:  # it could not say so itself; others only noticed that it is gone
            tell(Path(job["fault"]), "failed", describe_status(failure.exitcode), rank)
        raise


def run_rank(job: Job) -> int:
    """One rank, from its first import to pytest's last order. Returns its exit code."""
    try:
        return _run_rank(job)
    except ChannelClosed:
        return 1  # pytest is gone, there is nobody to tell
    except BaseException as error:
        record_fault(Path(job["fault"]), error)
        if Place.from_variables().world > 1:
            time.sleep(AGENT_NOTICES_S)
        raise


def _run_rank(job: Job) -> int:
    place = Place.from_variables()
    setting = Setting.from_dict(job["setting"])
    if setting.device == "cpu":
        # torchrun's default of one thread a rank would be unfair to DDP
        torch.set_num_threads(setting.threads or max(1, job["cores"] // place.world))
    if place.world > 1:
        own = torch.distributed.get_default_backend_for_device(setting.device)  # nccl, xccl, gloo
        backend = own if setting.device == "cpu" else f"cpu:gloo,{setting.device}:{own}"
        torch.distributed.init_process_group(backend, timeout=PATIENCE)
    workload = workloads.load(job["workload"])
    scale, source = workload.scale(job["scale"]), source_from(job)

    def build(seed: int) -> Training:
        return Training(workload, scale, source, setting, place, seed=seed)

    orders = Orders(build(job["seed"]), build)
    if place.rank == 0:
        channel = Channel.connect(job["port"], job["token"])
        lead(channel, orders, workload.unit, job["warm_up_s"])
    else:
        orders.follow()
    leave(orders.training)
    return 0


def lead(channel: Channel, orders: Orders, unit: str, warm_up_s: float) -> None:
    """Rank 0: the first step, warm-up, then whatever pytest orders."""
    training = orders.training
    first = orders.give({"do": "run", "drain": 0, "steps": 1, "blocks": 1})
    channel.send(
        {
            "event": "first_step",
            "seconds": first["blocks"][0]["seconds"],
            "units_per_step": training.units_per_step,
            "unit": unit,
            "batch": training.batch // training.replicas,  # per device
            "gpus": orders.give({"do": "name_gpus"})["gpus"],
        }
    )
    channel.send({"event": "warm", "step_s": warm_up(orders, warm_up_s)})
    while True:
        order = channel.receive()
        assert order is not None
        channel.send(orders.give(order))
        if order["do"] == "leave":
            return


def warm_up(orders: Orders, limit_s: float) -> float:
    """Steps until two short blocks in a row take the same time; the last one's seconds a step."""
    block = orders.give({"do": "watch"})["blocks"][0]
    spent, step_s = block["seconds"], block["seconds"]
    while spent < limit_s:
        steps = max(1, round(WARM_UP_BLOCK_S / step_s))
        block = orders.give({"do": "run", "drain": 0, "steps": steps, "blocks": 1})["blocks"][0]
        before, step_s = step_s, block["seconds"] / steps
        spent += block["seconds"]
        if abs(step_s / before - 1) < SETTLED:
            break
    return float(step_s)


def record_fault(path: Path, error: BaseException) -> None:
    """Tell pytest why; the first rank to fail speaks, what follows from it does not."""
    traceback.print_exc()
    outcome = "out_of_memory" if ran_out_of_memory(error) else "failed"
    if isinstance(error, UnsuitedError):
        outcome = "skipped"
    said = str(error).strip().splitlines() or ["no message"]
    # these say all there is to say
    ours = isinstance(error, workloads.WorkloadError | UnsuitedError)
    reason = said[0] if ours else f"{type(error).__name__}: {said[0]}"
    if not path.exists():
        tell(path, outcome, reason, Place.from_variables().rank)


def tell(path: Path, outcome: str, reason: str, rank: int) -> None:
    """Leave a fault for pytest to find, whole or not at all."""
    beside = path.with_suffix(f".{os.getpid()}")
    beside.write_text(json.dumps({"outcome": outcome, "reason": reason, "rank": rank}))
    beside.replace(path)


def ran_out_of_memory(error: BaseException) -> bool:
    """torch reports an exhausted CPU as a plain RuntimeError."""
    return isinstance(error, MemoryError | torch.OutOfMemoryError) or (
        isinstance(error, RuntimeError) and "can't allocate memory" in str(error)
    )


def source_from(job: Job) -> workloads.Source:
    images, text = job.get("images"), job.get("text")
    return workloads.Source(
        cache=Path(job["cache"]),
        images=Path(images) if images else None,
        text=Path(text) if text else None,
    )


def leave(training: Training) -> None:
    """End loader workers, then this process at once: tearing down a device context takes long."""
    del training.batches
    if training.place.world > 1:
        torch.distributed.barrier()
    sys.stdout.flush()
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(run_arm(json.loads(sys.argv[1])))
