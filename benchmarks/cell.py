"""A cell: one entry of the matrix, a workload under a setting against its baseline."""

from dataclasses import dataclass, replace

from benchmarks.hardware import Hardware
from benchmarks.setting import Setting
from benchmarks.techniques import Technique, device_needs
from workloads import CATALOG


@dataclass(frozen=True)
class Cell:
    """`axes` names every axis of the candidate, plain values included, in the order of the id.

    workload: a name in the catalog, or "path/to/file.py:name".
    quick: part of the default tier; the rest runs with `--tier full` or when selected.
    scale: of this cell where neither the option nor the device is to decide it.
    on: what tells the baseline from the plain setting, for a table.
    goal: what is compared: one of results.record.GOALS.
    """

    workload: str
    axes: tuple[Technique, ...]
    baseline: Setting
    device: str
    quick: bool = True
    scale: str | None = None
    on: tuple[Technique, ...] = ()
    goal: str = "throughput"

    @property
    def label(self) -> str:
        """The workload's name: for a user's own, what stands after the colon."""
        return self.workload.rpartition(":")[2]

    @property
    def id(self) -> str:
        return "-".join((self.label, self.device, *(t.name for t in (*self.on, *self.axes))))

    @property
    def setting(self) -> Setting:
        """The axes on top of the baseline; the device is the cell's own."""
        setting = replace(self.baseline, device=self.device)
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
        below = " + ".join(axis.name for axis in self.on)
        return (" + ".join(names) or "control") + (f" on {below}" if below else "")

    def impossible(self, hardware: Hardware) -> str | None:
        """Why this machine cannot run the cell, decided before anything is measured."""
        for setting in (self.setting, self.baseline):
            if reason := device_needs(hardware, setting):
                return reason
        if reason := self._unfit():
            return reason
        reasons = (axis.needs(hardware, self.setting) for axis in self.axes)
        return next((reason for reason in reasons if reason), None)

    def _unfit(self) -> str | None:
        """A technique for images has nothing to do in text; of a user's workload nobody knows."""
        known = CATALOG.get(self.workload)
        for axis in self.axes:
            if known and axis.only_for and not axis.only_for.holds(known):
                return f"{axis.name} is for {axis.only_for.words}, {self.label} is none"
            if axis.catalog and not known:
                return f"{axis.name} needs a workload of the catalog, {self.label} is none"
        return None
