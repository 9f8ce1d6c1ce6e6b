"""What of a workload's preprocessing is done where."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from benchmarks.setting import Setting
from benchmarks.training.place import Place

if TYPE_CHECKING:
    from benchmarks.training.training import Training

KNOBS = {"decode": "pil", "augment": "loader", "images": "as_stored"}  # and what data does anyway


def data_options(setting: Setting) -> dict[str, str]:
    """What to ask of the data: nothing of the plain setting, so that any workload has it."""
    return {
        knob: getattr(setting, knob)
        for knob, plain in KNOBS.items()
        if getattr(setting, knob) != plain
    }


class Finish:
    """What the loader left over, done to batch after batch on the device."""

    def __init__(
        self, finish: Callable[[Any, torch.device, int], Tensor], device: torch.device, place: Place
    ) -> None:
        self.done_on: str | None = None  # type of the device on which the last batch was finished
        self._finish = finish
        self._device = device
        self._place = place
        self._batches = 0

    def __call__(self, inputs: Any) -> Tensor:
        seed = self._place.rank + self._place.world * self._batches  # another one in every rank
        self._batches += 1
        finished = self._finish(inputs, self._device, seed)
        self.done_on = finished.device.type
        return finished


def finish_of(data: Any, device: torch.device, place: Place) -> Finish | None:
    """What is to be done to a batch on the device; None: it comes finished from the loader."""
    finish = getattr(data, "finish", None)
    return Finish(finish, device, place) if finish else None


def read_back(training: "Training") -> dict[str, Any]:
    """Which decoder ran and how often, by any process; on what files; where images were augmented.

    None, all of it, of data that are no images of the catalog.
    """
    data: Any = training.data
    tally = getattr(data, "tally", None)
    return {
        "images": tally and {**tally.to_dict(), "stored_side": data.stored_side},
        "augmented_on": training.finish.done_on if training.finish else None,
    }
