"""Two clocks for what happens inside a block: the host's, and the device's own events."""

from time import perf_counter
from typing import Protocol

import torch


class Marks(Protocol):
    """Points in time, set in passing; read when the block is over and the device has finished."""

    def set(self) -> None: ...
    def intervals_s(self) -> list[float]: ...


class HostMarks:
    """By the host's clock: a CPU has done its work when the call returns."""

    def __init__(self) -> None:
        self._times: list[float] = []

    def set(self) -> None:
        self._times.append(perf_counter())

    def intervals_s(self) -> list[float]:
        """Seconds between neighbouring marks."""
        return [after - before for before, after in zip(self._times, self._times[1:], strict=False)]


class DeviceMarks:
    """By the device's own events, so that nothing has to wait for the device."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._events: list[torch.Event] = []

    def set(self) -> None:
        event = torch.Event(self._device, enable_timing=True)
        event.record()
        self._events.append(event)

    def intervals_s(self) -> list[float]:
        """Seconds between neighbouring marks; the device must have been synchronised."""
        return [
            before.elapsed_time(after) / 1e3
            for before, after in zip(self._events, self._events[1:], strict=False)
        ]


def marks_for(device: torch.device) -> Marks:
    return HostMarks() if device.type == "cpu" else DeviceMarks(device)
