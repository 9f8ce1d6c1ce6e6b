"""A training under a setting: built from the outside in, one module a family of knobs."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel

import workloads
from benchmarks.setting import Setting
from benchmarks.training.attention import attention
from benchmarks.training.checkpointing import checkpoint_layers
from benchmarks.training.compiling import compile_model
from benchmarks.training.layout import lay_out_inputs, lay_out_weights
from benchmarks.training.optimizers import build_optimizer
from benchmarks.training.pipeline import Pipeline
from benchmarks.training.place import Place, device_of, devices_of
from benchmarks.training.precision import (
    autocast,
    cast_inputs,
    cast_weights,
    choose_fp32,
    grad_scaler,
)
from benchmarks.training.preprocessing import data_options, finish_of
from benchmarks.training.rates import scale_rate
from benchmarks.training.sharding import shard_states
from benchmarks.training.strategies import loss_of, parallelise, put
from benchmarks.training.transfer import batches_of, move

PARTS = ("data", "copy", "forward", "backward", "optimizer")  # of a step
Mark = Callable[[str], None]
KEPT_LOSSES = 8  # the first ones, compared with the other arm's


def unmarked(part: str) -> None:
    """The mark of a step that is not taken apart."""


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
        self.scale = scale
        self.place = place
        self.device = device_of(setting, place)
        if self.on_accelerator:
            torch.accelerator.set_device_index(self.device.index)
        choose_fp32(setting.precision)
        torch.manual_seed(seed)
        self.build_model = partial(workload.build_model, scale)
        self.module = put(workload, self.build_model(), setting, place, self.device)
        lay_out_weights(cast_weights(self.module, setting), setting)
        checkpoint_layers(self.module, setting)
        # DDP outside, as it is to see each gradient; Dynamo cuts its graphs at DDP's buckets.
        self.model = parallelise(compile_model(self.module, setting), setting, self.device)
        optimizer = build_optimizer(workload, scale, self.model.parameters(), setting)
        self.optimizer = shard_states(optimizer, setting)
        self.schedule = scale_rate(self.optimizer, setting)
        self.loss = loss_of(workload, setting)
        self.autocast = autocast(setting, self.device)
        self.scaler = grad_scaler(setting, self.device)
        self.replicas = len(getattr(self.model, "device_ids", None) or [0])
        own_batch = max(1, round(scale.batch * setting.batch))
        self.batch = own_batch * (self.replicas if setting.parallel == "dp" else 1)
        self.units_per_step = self.batch * self.data_place.world * scale.units  # of all ranks
        self.data = workload.build_data(scale, source, **data_options(setting))
        self.finish = finish_of(self.data, self.device, self.data_place)
        self.batches = batches_of(self.data, self.batch, setting, self.data_place, self.device)
        self.steps = 0
        self._losses: list[Tensor] = []

    @property
    def data_place(self) -> Place:
        """Of this rank among those that take batches of their own: a pipeline's share theirs."""
        return Place() if self.setting.strategy == "pp" else self.place

    @property
    def devices(self) -> list[torch.device]:
        """Every device that this rank computes on."""
        return devices_of(self.setting, self.device)

    @property
    def on_accelerator(self) -> bool:
        return self.device.type != "cpu"

    def step(self, mark: Mark = unmarked) -> None:
        """One step; `mark` is called with the name of each of PARTS as it begins."""
        mark("data")
        batch = next(self.batches)
        mark("copy")
        inputs, targets = self.to_device(batch, mark)
        self.train_on(inputs, targets, mark)

    def to_device(self, batch: Any, mark: Mark = unmarked) -> tuple[Tensor, Tensor]:
        """A batch for the model: copied, and finished where the loader left something over."""
        inputs, targets = move(batch, self.device, non_blocking=self.setting.non_blocking)
        if self.finish:
            mark("data")
            inputs = self.finish(inputs)
        return lay_out_inputs(cast_inputs(inputs, self.setting), self.setting), targets

    def train_on(self, inputs: Tensor, targets: Tensor, mark: Mark = unmarked) -> None:
        """The part of a step that needs no loader."""
        mark("optimizer")
        self.optimizer.zero_grad(set_to_none=self.setting.zero_grad == "to_none")
        with attention(self.setting):
            loss = self.compute_gradients(inputs, targets, mark)
        mark("optimizer")
        self.scaler.step(self.optimizer)
        self.scaler.update()
        if self.schedule:
            self.schedule.step()
        self.steps += 1
        self.last_loss = loss  # on the device: reading it would synchronise
        if len(self._losses) < KEPT_LOSSES:
            self._losses.append(loss)

    def compute_gradients(self, inputs: Tensor, targets: Tensor, mark: Mark = unmarked) -> Tensor:
        """Forward and backward over the batch, in micro-batches; the mean loss, on the device."""
        if isinstance(self.model, Pipeline):
            return self.model.compute_gradients(inputs, targets, self.loss, self.autocast, mark)
        micro_batches = self.setting.accumulate
        total: Tensor | None = None
        pieces = zip(inputs.chunk(micro_batches), targets.chunk(micro_batches), strict=True)
        for number, (some_inputs, some_targets) in enumerate(pieces, start=1):
            with self._gradients_stay_here(last=number == micro_batches):
                mark("forward")
                with self.autocast():
                    loss = self.loss(self.model(some_inputs), some_targets)
                    if micro_batches > 1:  # a whole batch runs no kernel that a plain loop has not
                        loss = loss / micro_batches
                mark("backward")
                self.scaler.scale(loss).backward()  # type: ignore[no-untyped-call]
            part = loss.detach().to(self.device)
            total = part if total is None else total + part
        assert total is not None
        return total

    def _gradients_stay_here(self, last: bool) -> AbstractContextManager[None]:
        """Under no_sync, ranks average their gradients once a step: behind the last micro-batch."""
        if last or not self.setting.no_sync or not isinstance(self.model, DistributedDataParallel):
            return nullcontext()
        return self.model.no_sync()

    def synchronize(self) -> None:
        """Wait until every rank's device has done its work."""
        if self.on_accelerator:
            for device in self.devices:
                torch.accelerator.synchronize(device)
        if self.place.world > 1:
            torch.distributed.barrier()

    def losses(self) -> list[float]:
        """The first losses, the mean over the batches of all ranks. A collective call."""
        losses = torch.tensor([loss.float().item() for loss in self._losses])
        if self.place.world > 1:
            torch.distributed.all_reduce(losses)
        return (losses / self.data_place.world).tolist()
