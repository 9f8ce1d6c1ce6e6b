"""A training under a setting: built from the outside in, one short function a knob."""

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

import workloads
from benchmarks.setting import SCALED_PRECISIONS, Setting
from workloads.stream import Positions

AUTOCAST = {"amp_bf16": torch.bfloat16, "amp_fp16": torch.float16}
PARTS = ("data", "copy", "forward", "backward", "optimizer")  # of a step, in their order
Mark = Callable[[], None]
KEPT_LOSSES = 8  # the first ones, compared with the other arm's


def nothing() -> None:
    """The mark of a step that is not taken apart."""


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

    def step(self, mark: Mark = nothing) -> None:
        """One step; `mark` is called at the end of each of PARTS."""
        batch = next(self.batches)
        mark()
        inputs, targets = self.to_device(batch)
        mark()
        self.train_on(inputs, targets, mark)

    def to_device(self, batch: Any) -> tuple[Tensor, Tensor]:
        inputs, targets = batch
        return inputs.to(self.device), targets.to(self.device)

    def train_on(self, inputs: Tensor, targets: Tensor, mark: Mark = nothing) -> None:
        """The part of a step that needs no loader."""
        self.optimizer.zero_grad()
        with self.autocast():
            loss = self.loss(self.model(inputs), targets)
        mark()
        self.scaler.scale(loss).backward()  # type: ignore[no-untyped-call]
        mark()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        mark()
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
