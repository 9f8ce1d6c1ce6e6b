"""A cell: one entry of the matrix, a workload under a setting against its baseline."""

from dataclasses import dataclass

from benchmarks.hardware import Hardware
from benchmarks.setting import Setting
from benchmarks.techniques import Technique, device_needs


@dataclass(frozen=True)
class Cell:
    """`axes` names every axis of the candidate, plain values included, in the order of the id.

    workload: a name in the catalog, or "path/to/file.py:name".
    quick: part of the default tier; the rest runs with `--tier full` or when selected.
    scale: of this cell where neither the option nor the device is to decide it.
    """

    workload: str
    axes: tuple[Technique, ...]
    baseline: Setting
    device: str
    quick: bool = True
    scale: str | None = None

    @property
    def label(self) -> str:
        """The workload's name: for a user's own, what stands after the colon."""
        return self.workload.rpartition(":")[2]

    @property
    def id(self) -> str:
        return "-".join((self.label, self.device, *(axis.name for axis in self.axes)))

    @property
    def setting(self) -> Setting:
        setting = Setting(device=self.device)
        for axis in self.axes:
            setting = axis.apply(setting)
        return setting

    @property
    def is_control(self) -> bool:
        """Candidate and baseline are the same setting: the row must read 1.00."""
        return self.setting == self.baseline

    @property
    def changed(self) -> tuple[Technique, ...]:
        """The techniques that tell the candidate from its baseline."""
        return tuple(axis for axis in self.axes if axis.changes(self.baseline))

    @property
    def technique(self) -> str:
        """What the candidate changes, in words for a table."""
        names = [axis.name for axis in self.changed]
        if self.device != self.baseline.device:
            names.insert(0, self.device)
        return " + ".join(names) or "control"

    def impossible(self, hardware: Hardware) -> str | None:
        """Why this machine cannot run the cell, decided before anything is measured."""
        for setting in (self.setting, self.baseline):
            if reason := device_needs(hardware, setting):
                return reason
        reasons = (axis.needs(hardware, self.setting) for axis in self.axes)
        return next((reason for reason in reasons if reason), None)
