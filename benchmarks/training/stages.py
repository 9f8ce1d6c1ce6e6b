"""A model cut in stages: on several devices of one process, or one a rank in a pipeline.

The pieces of a model (`workloads.Workload.cut`) are shared out in order, as many to each stage.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor, distributed, nn

from benchmarks.training.place import Place
from benchmarks.training.unsuited import UnsuitedError


def stage_of(pieces: int, stages: int) -> list[int]:
    """Which stage each piece belongs to.

    >>> stage_of(5, 2)
    [0, 0, 0, 1, 1]

    Raises:
        UnsuitedError: fewer pieces than stages.
    """
    if pieces < stages:
        raise UnsuitedError(f"a model of {pieces} pieces cannot be cut in {stages} stages")
    return [piece * stages // pieces for piece in range(pieces)]


def known(pieces: Sequence[nn.Module] | None, parallel: str) -> Sequence[nn.Module]:
    """The pieces of a model that has some; raises UnsuitedError for others."""
    if pieces is None:
        raise UnsuitedError(
            f"{parallel} cuts the model, and this workload does not say where: "
            "declare its pieces, or make the model an nn.Sequential"
        )
    return pieces


class Stage(nn.Sequential):
    """What one rank of a pipeline holds of the model.

    place: which stage it is.
    shared: parameters that other stages hold too (tied weights), with the group of their ranks.
    whole: parameters of the whole model, counted in numbers.
    autocast: the context that it computes in.
    """

    place: Place
    shared: list[tuple[nn.Parameter, Any]]
    whole: int
    autocast: Callable[[], AbstractContextManager[Any]] = nullcontext

    def forward(self, x: Tensor) -> Tensor:
        with self.autocast():
            output: Tensor = super().forward(x)  # type: ignore[no-untyped-call]
            return output


def own_stage(pieces: Sequence[nn.Module], place: Place) -> Stage:
    """The stage of this rank. A collective call."""
    stages = stage_of(len(pieces), place.world)
    holders: dict[nn.Parameter, list[int]] = {}
    for piece, stage in zip(pieces, stages, strict=True):
        for parameter in piece.parameters():
            holding = holders.setdefault(parameter, [])
            if stage not in holding:
                holding.append(stage)
    own = Stage(*(p for p, stage in zip(pieces, stages, strict=True) if stage == place.rank))
    own.place = place
    own.whole = sum(parameter.numel() for parameter in holders)
    own.shared = []
    for parameter, ranks in holders.items():
        if len(ranks) > 1:
            group = distributed.new_group(ranks)  # every rank asks for every group
            if place.rank in ranks:
                own.shared.append((parameter, group))
    return own


class OnDevices(nn.Module):
    """Pieces on several devices of one process; what they compute travels along.

    A weight that two pieces share keeps both on the device of the first.
    """

    def __init__(self, pieces: Sequence[nn.Module], devices: Sequence[torch.device]) -> None:
        super().__init__()
        self.pieces = nn.ModuleList(pieces)
        self.devices = [devices[stage] for stage in stage_of(len(pieces), len(devices))]
        homes: dict[nn.Parameter, torch.device] = {}
        for number, piece in enumerate(pieces):
            homed = (homes[p] for p in piece.parameters() if p in homes)
            self.devices[number] = next(homed, self.devices[number])
            piece.to(self.devices[number])
            homes |= dict.fromkeys(piece.parameters(), self.devices[number])

    def forward(self, x: Tensor) -> Tensor:
        for piece, device in zip(self.pieces, self.devices, strict=True):
            x = piece(x.to(device, non_blocking=True))
        return x
