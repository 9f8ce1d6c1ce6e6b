"""One rank of a pipeline: torch's schedule over a stage of the model.

All ranks take the same batches: the first stage uses the inputs, the last one the targets.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import Tensor, distributed, nn
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe

from benchmarks.training.stages import Stage
from benchmarks.training.unsuited import UnsuitedError

Loss = Callable[[Any, Any], Tensor]
Autocast = Callable[[], AbstractContextManager[Any]]


class MarkedStage(PipelineStage):
    """Marks where the backward passes begin: behind all forward passes, waits included."""

    mark: Callable[[str], None]

    def get_bwd_recv_ops(self, bwd_chunk_id: int) -> list[distributed.P2POp]:
        if bwd_chunk_id == 0:
            self.mark("backward")
        return super().get_bwd_recv_ops(bwd_chunk_id)


class Pipeline(nn.Module):
    """A stage, and the schedule (GPipe, Huang et al. 2019) that runs micro-batches through all."""

    def __init__(self, stage: Stage, device: torch.device, micro_batches: int) -> None:
        super().__init__()
        self.module = stage
        self.stages = stage.place.world
        self.micro_batches = micro_batches
        self.schedule: ScheduleGPipe | None = None
        self._stage = MarkedStage(stage, stage.place.rank, stage.place.world, device)

    def compute_gradients(
        self,
        inputs: Tensor,
        targets: Tensor,
        loss: Loss,
        autocast: Autocast,
        mark: Callable[[str], None],
    ) -> Tensor:
        """Gradients of a batch that all ranks hold; its mean loss on the last one, 0 elsewhere.

        Raises:
            UnsuitedError: the batch does not divide into equal micro-batches.
        """
        if len(inputs) % self.micro_batches:
            raise UnsuitedError(
                f"a batch of {len(inputs)} does not divide into {self.micro_batches} micro-batches"
            )
        if self.schedule is None:
            self.schedule = self._scheduled(loss, autocast)
        first, last = self._stage.is_first, self._stage.is_last
        losses: list[Tensor] = []
        self._stage.mark = mark
        mark("forward")
        self.schedule.step(
            *([inputs] if first else []),
            target=targets if last else None,
            losses=losses,
            return_outputs=False,
        )
        for parameter, group in self.module.shared:
            assert parameter.grad is not None
            distributed.all_reduce(parameter.grad, group=group)
        if not last:
            return torch.zeros((), device=inputs.device)
        return torch.stack(losses).mean().detach()

    def _scheduled(self, loss: Loss, autocast: Autocast) -> ScheduleGPipe:
        def loss_of(output: Any, target: Any) -> Tensor:
            with autocast():
                return loss(output, target)

        self.module.autocast = autocast
        return ScheduleGPipe(self._stage, self.micro_batches, loss_fn=loss_of)
