"""A training under a setting: built from the outside in, one short function a knob."""

import multiprocessing
import os
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

import workloads
from benchmarks.setting import SCALED_PRECISIONS, Setting
from workloads.stream import Positions

AUTOCAST = {"amp_bf16": torch.bfloat16, "amp_fp16": torch.float16}
KEPT_LOSSES = 8  # the first ones, compared with the other arm's


@dataclass(frozen=True)
class Place:
    """Which of the ranks this process is."""

    rank: int = 0
    local_rank: int = 0
    world: int = 1

    @classmethod
    def from_variables(cls) -> "Place":
        """As the elastic agent tells it; without one, the only rank."""
        variables = (os.environ.get(name) for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE"))
        return cls(
            *(int(value or default) for value, default in zip(variables, (0, 0, 1), strict=True))
        )


class Training:
    """One rank's share of a workload trained under a setting.

    `step()` is what a practitioner writes, in the order of torch's own documentation.
    """

    def __init__(
        self,
        workload: workloads.Workload,
        scale: workloads.Scale,
        source: workloads.Source,
        setting: Setting,
        place: Place,
        *,
        seed: int = 0,
    ) -> None:
        self.setting = setting
        self.place = place
        self.device = device_of(setting, place)
        if self.on_accelerator:
            torch.accelerator.set_device_index(self.device.index)
        use_ieee_fp32()
        torch.manual_seed(seed)
        self.module = workload.build_model(scale).to(self.device)
        self.model = parallelise(self.module, setting, self.device)
        self.optimizer = workload.build_optimizer(self.model.parameters(), scale)
        self.loss = workload.build_loss()
        self.autocast = partial(
            torch.autocast,
            self.device.type,
            dtype=AUTOCAST.get(setting.precision),
            enabled=setting.precision in AUTOCAST,
        )
        self.scaler = torch.amp.GradScaler(
            self.device.type, enabled=setting.precision in SCALED_PRECISIONS
        )
        self.replicas = len(getattr(self.model, "device_ids", None) or [0])
        self.batch = scale.batch * (self.replicas if setting.parallel == "dp" else 1)
        self.units_per_step = self.batch * place.world * scale.units  # of all ranks together
        self.batches = iter(
            load_batches(workload.build_data(scale, source), self.batch, setting, place)
        )
        self.steps = 0
        self._losses: list[Tensor] = []

    @property
    def on_accelerator(self) -> bool:
        return self.device.type != "cpu"

    def step(self) -> None:
        inputs, targets = next(self.batches)
        inputs, targets = inputs.to(self.device), targets.to(self.device)
        self.optimizer.zero_grad()
        with self.autocast():
            loss = self.loss(self.model(inputs), targets)
        self.scaler.scale(loss).backward()  # type: ignore[no-untyped-call]
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.steps += 1
        if len(self._losses) < KEPT_LOSSES:
            self._losses.append(loss.detach())  # kept on the device: reading it would synchronise

    def synchronize(self) -> None:
        """Wait until every rank's device has done its work."""
        if self.on_accelerator:
            torch.accelerator.synchronize()
        if self.place.world > 1:
            torch.distributed.barrier()

    def losses(self) -> list[float]:
        """The first losses, the mean over the ranks. A collective call."""
        losses = torch.tensor([loss.float().item() for loss in self._losses])
        if self.place.world > 1:
            torch.distributed.all_reduce(losses)
        return (losses / self.place.world).tolist()


def device_of(setting: Setting, place: Place) -> torch.device:
    if setting.device == "cpu":
        return torch.device("cpu")
    return torch.device(setting.device, place.local_rank)


def use_ieee_fp32() -> None:
    """fp32 means IEEE fp32: torch's default rounds convolutions to TF32 on NVIDIA GPUs."""
    torch.backends.cuda.matmul.fp32_precision = "ieee"
    torch.backends.cudnn.fp32_precision = "ieee"
    torch.backends.cudnn.conv.fp32_precision = "ieee"  # type: ignore[attr-defined]


def parallelise(module: nn.Module, setting: Setting, device: torch.device) -> nn.Module:
    """The module under the setting's strategy; a process group exists where it needs one."""
    if setting.parallel == "dp":
        return nn.DataParallel(module)
    if setting.parallel.startswith("ddp"):
        return DistributedDataParallel(
            module, device_ids=None if device.type == "cpu" else [device]
        )
    return module


def load_batches(dataset: Any, batch: int, setting: Setting, place: Place) -> DataLoader[Any]:
    """The loader of one rank. Never ends: no epoch boundary falls into a measured block."""
    workers = setting.num_workers
    return DataLoader(
        dataset,
        batch_size=batch,
        sampler=Positions(place.rank, place.world),
        num_workers=workers,
        prefetch_factor=setting.prefetch_factor if workers else None,
        # Python 3.14 would start workers by a fork server: other seconds, and out of our process
        # group. Forked everywhere on Linux, cells of different Pythons compare.
        multiprocessing_context="fork" if workers and sys.platform == "linux" else None,
    )


def read_back(training: Training) -> dict[str, Any]:
    """What is true of a training, as evidence for the guards. A collective call."""
    model, scaler = training.model, training.scaler
    wrapped = model is not training.module
    return {
        "device": str(training.device),
        "strategy": type(model).__name__ if wrapped else "none",
        "replicas": training.place.world
        if isinstance(model, DistributedDataParallel)
        else training.replicas,
        "visible_devices": torch.accelerator.device_count() if training.on_accelerator else 0,
        "world_size": torch.distributed.get_world_size() if training.place.world > 1 else 1,
        "loader_workers": len(multiprocessing.active_children()),
        "threads": torch.get_num_threads(),
        "parameter_spread": parameter_spread(training),
        "scaler_skipped_steps": skipped_steps(scaler),
        "steps": training.steps,
        "fp32_precision": torch.backends.cuda.matmul.fp32_precision,
        "losses": training.losses(),
        **peak_memory(training),
    }


def skipped_steps(scaler: torch.amp.GradScaler) -> int:
    """Steps left out because gradients overflowed: each halves the scale.

    Right while the scale has not grown, which takes 2,000 steps without an overflow.
    """
    if not scaler.is_enabled():
        return 0
    scale, halvings = 65536.0, 0  # GradScaler's initial scale
    while scale > scaler.get_scale():
        scale, halvings = scale * scaler.get_backoff_factor(), halvings + 1
    return halvings


def parameter_spread(training: Training) -> float:
    """Largest difference between ranks of any parameter's sum; 0 for a single rank."""
    if training.place.world == 1:
        return 0.0
    sums = torch.stack([p.detach().double().sum().cpu() for p in training.module.parameters()])
    lowest, highest = sums.clone(), sums
    torch.distributed.all_reduce(lowest, torch.distributed.ReduceOp.MIN)
    torch.distributed.all_reduce(highest, torch.distributed.ReduceOp.MAX)
    return float((highest - lowest).max())


def peak_memory(training: Training) -> dict[str, int | None]:
    """Peak allocated and reserved bytes of the fullest device; None where torch cannot tell."""
    if not training.on_accelerator:
        return {"peak_memory_bytes": None, "peak_reserved_bytes": None}
    devices = (
        range(training.replicas) if training.setting.parallel == "dp" else [training.device.index]
    )
    peaks = torch.tensor(
        [
            max(torch.accelerator.max_memory_allocated(device) for device in devices),
            max(torch.accelerator.max_memory_reserved(device) for device in devices),
        ]
    )
    if training.place.world > 1:
        torch.distributed.all_reduce(peaks, torch.distributed.ReduceOp.MAX)
    allocated, reserved = peaks.tolist()
    return {"peak_memory_bytes": int(allocated), "peak_reserved_bytes": int(reserved)}


def gpu_uuids(training: Training) -> list[str]:
    """NVML names of the GPUs this rank uses; empty where there are none."""
    if training.device.type != "cuda":
        return []
    devices = (
        range(training.replicas) if training.setting.parallel == "dp" else [training.device.index]
    )
    return [f"GPU-{torch.cuda.get_device_properties(device).uuid}" for device in devices]


def source_from(job: dict[str, Any]) -> workloads.Source:
    images, text = job.get("images"), job.get("text")
    return workloads.Source(
        cache=Path(job["cache"]),
        images=Path(images) if images else None,
        text=Path(text) if text else None,
    )
