"""What a technique is: a named change of a setting, what it needs, and what proves its effect."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from benchmarks.hardware import Hardware
from benchmarks.setting import Setting
from workloads import Workload

Evidence = Mapping[str, Any]  # what a rank read back of its own state: see `evidence.read_back`
Finding = tuple[bool, str]  # did it hold, and what was seen
Need = Callable[[Hardware, Setting], str | None]
Check = Callable[[Setting, Evidence], Finding | None]


@dataclass(frozen=True)
class Kind:
    """Some workloads of the catalog: in words that end "is for", and which ones."""

    words: str
    holds: Callable[[Workload], bool]


IMAGES = Kind("image workloads", lambda workload: workload.unit == "images")
ATTENTION = Kind("models with attention", lambda workload: workload.attention)


@dataclass(frozen=True, kw_only=True)
class Technique:
    """One named change.

    change: knobs of the setting and the values it gives them.
    on: what both arms have besides, since the technique means nothing without it.
    only_for: the workloads that it means something for; None: any.
    catalog: only for workloads of the catalog, whose data can do what it asks of them.
    needs: why this machine cannot run it under a setting (one sentence), or None.
    checks: name of a guard -> whether the evidence agrees with a setting, any setting; None where
        there is nothing to say about that one. Both arms of every cell pass through all checks.
    loss_tolerance: how far the mean of the first losses may lie from the baseline's, relative.
    first_step_s: how long its first step may take before it is given up as hopeless; above the
        plan's, a cell gets the difference on top of its time, once.
    quick: in the quick tier where the matrix leaves room.
    """

    name: str
    change: Mapping[str, Any]
    why: str
    api: str
    on: "tuple[Technique, ...]" = ()
    only_for: Kind | None = None
    catalog: bool = False
    needs: Need = field(default=lambda hardware, setting: None)
    checks: Mapping[str, Check] = field(default_factory=dict)
    loss_tolerance: float = 0.02
    first_step_s: float = 20.0
    quick: bool = False

    def apply(self, setting: Setting) -> Setting:
        return replace(setting, **self.change)

    def changes(self, setting: Setting) -> bool:
        return self.apply(setting) != setting

    def baseline(self, device: str) -> Setting:
        """The plain setting with what the technique stands on."""
        setting = Setting(device=device)
        for technique in self.on:
            setting = technique.apply(setting)
        return setting
