"""Two clocks for what happens inside a block: the host's, and the device's own events."""

from time import perf_counter
from typing import Protocol

import torch


class Marks(Protocol):
    """Named points in time, set in passing; read when the device has finished."""

    def set(self, name: str) -> None: ...
    def intervals_s(self) -> list[tuple[str, float]]: ...


class HostMarks:
    """By the host's clock: a CPU has done its work when the call returns."""

    def __init__(self) -> None:
        self._times: list[tuple[str, float]] = []

    def set(self, name: str) -> None:
        self._times.append((name, perf_counter()))

    def intervals_s(self) -> list[tuple[str, float]]:
        """From each mark to the next: the mark's name, seconds."""
        return [
            (name, after - before)
            for (name, before), (_, after) in zip(self._times, self._times[1:], strict=False)
        ]


class DeviceMarks:
    """By the device's own events, so that nothing has to wait for the device."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._events: list[tuple[str, torch.Event]] = []

    def set(self, name: str) -> None:
        event = torch.Event(self._device, enable_timing=True)
        event.record()
        self._events.append((name, event))

    def intervals_s(self) -> list[tuple[str, float]]:
        """From each mark to the next: the mark's name, seconds. Synchronise the device first."""
        return [
            (name, before.elapsed_time(after) / 1e3)
            for (name, before), (_, after) in zip(self._events, self._events[1:], strict=False)
        ]


def marks_for(device: torch.device) -> Marks:
    return HostMarks() if device.type == "cpu" else DeviceMarks(device)
