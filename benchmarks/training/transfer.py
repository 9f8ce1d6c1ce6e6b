"""How a batch comes from the loader to the device."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch

from benchmarks.setting import Setting
from benchmarks.training.loading import Batches, tensors_in
from benchmarks.training.place import Place

if TYPE_CHECKING:
    from benchmarks.training.training import Training


def move(batch: Any, device: torch.device, *, non_blocking: bool) -> tuple[Any, Any]:
    """Inputs and targets on the device; a list of encoded images stays, to be decoded there."""
    inputs, targets = batch
    if not isinstance(inputs, list):
        inputs = inputs.to(device, non_blocking=non_blocking)
    return inputs, targets.to(device, non_blocking=non_blocking)


class CopiedAhead(Iterator[Any]):
    """Batches on the device: while training computes on one, the next is copied on another stream.

    An accelerator's copy engines work beside its cores, but a copy in the stream that computes
    waits for its turn. Batches have to be pinned: from pageable memory the host itself copies.
    """

    def __init__(self, source: Batches, device: torch.device) -> None:
        self.source = source
        self.copied_aside = 0  # on a stream that was not the computing one
        self._device = device
        self._stream = torch.Stream(device)
        self._ahead: Any = None

    def __next__(self) -> Any:
        batch = self._copy() if self._ahead is None else self._ahead
        computing = torch.accelerator.current_stream(self._device)
        computing.wait_stream(self._stream)  # before the next copy is put there
        for tensor in tensors_in(batch):
            if tensor.device.type != "cpu":
                tensor.record_stream(computing)  # its memory is not free before that is done
        self._ahead = self._copy()
        return batch

    def _copy(self) -> Any:
        batch = next(self.source)
        computing = torch.accelerator.current_stream(self._device)
        with self._stream:
            self.copied_aside += torch.accelerator.current_stream(self._device) != computing
            return move(batch, self._device, non_blocking=True)


def batches_of(
    dataset: Any, batch: int, setting: Setting, place: Place, device: torch.device
) -> Batches | CopiedAhead:
    """Endless batches of one rank, on the CPU or, with a copy stream, on the device."""
    source = Batches(dataset, batch, setting, place)
    return CopiedAhead(source, device) if setting.copy_stream else source


def read_back(training: "Training") -> dict[str, Any]:
    """What the loader did, and how its batches came to the device. Takes one of them."""
    batches, copied_aside = training.batches, 0
    if isinstance(batches, CopiedAhead):
        copied_aside = batches.copied_aside
        batches = batches.source
    return {
        **batches.read_back(),
        "copied_aside": copied_aside,
        "copy_waits": copy_waits(next(batches), training.device, training.setting),
    }


def copy_waits(batch: Any, device: torch.device, setting: Setting) -> bool | None:
    """Whether the host waits until a batch is copied; None where torch cannot tell."""
    if device.type != "cuda":
        return None
    torch.cuda.set_sync_debug_mode("error")
    try:
        move(batch, device, non_blocking=setting.non_blocking)
    except RuntimeError as error:
        if "synchronizing" not in str(error):
            raise
        return True
    finally:
        torch.cuda.set_sync_debug_mode("default")
    return False
