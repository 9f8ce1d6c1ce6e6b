"""Which of the ranks this process is, and which device is its own."""

import os
from dataclasses import dataclass

import torch

from benchmarks.setting import Setting

MODEL_PARALLEL_DEVICES = 2


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


def device_of(setting: Setting, place: Place) -> torch.device:
    """A CPU is everybody's; of accelerators each rank has its own."""
    if setting.device == "cpu":
        return torch.device("cpu")
    return torch.device(setting.device, place.local_rank)


def devices_of(setting: Setting, device: torch.device) -> list[torch.device]:
    """Every device that a rank computes on; `device` is its first one."""
    if setting.parallel == "dp":
        found = torch.accelerator.device_count()
    elif setting.parallel == "mp":
        found = MODEL_PARALLEL_DEVICES
    else:
        return [device]
    return [torch.device(device.type, index) for index in range(found)]
