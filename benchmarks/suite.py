"""A run: what is opened before the first cell, kept between cells, and ended with the last."""

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from benchmarks import environment, hardware
from benchmarks.cell import Cell
from benchmarks.engine.arm import Arm
from benchmarks.engine.launcher import (
    Environment,
    Launcher,
    LaunchError,
    Origin,
    launcher_for,
)
from benchmarks.engine.reaper import Reaper
from benchmarks.hardware import Hardware, HardwareError
from benchmarks.options import (
    QUICK_BUDGET_ON_ACCELERATOR_S,
    QUICK_BUDGET_S,
    OptionError,
    Options,
)
from benchmarks.prepare import prepare
from benchmarks.setting import Setting
from benchmarks.techniques.allocators import STEADY_MALLOC
from results.store import RunFolder, StoreError

SEED = 0
FULL_SCALE_BYTES = 60 << 30  # both arms of a pair hold their model and activations at once


class Suite:
    """One run. `open` before `measure`; `close` whatever happened."""

    def __init__(
        self, options: Options, quick: bool, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.options = options
        self._quick = quick
        self.clock = clock
        self._began = clock()
        self._open = ExitStack()
        self._launchers: dict[Environment, Launcher] = {}
        self._unprepared: dict[tuple[str, str, str], str] = {}  # workload, scale, images: why
        self._reaper: Reaper
        self.hardware: Hardware
        self.run: RunFolder

    def open(self, cells: list[Cell]) -> None:
        """Probe the machine, make the data, create the run folder.

        Raises:
            OptionError, HardwareError, LaunchError, StoreError: one line each.
        """
        self._reaper = Reaper()
        self._open.callback(self._reaper.close)
        self._launcher_in(Environment())  # imports torch while the probe does
        self.hardware = hardware.probe_in_child()
        wanted = {
            (cell.workload, self.scale_of(cell), setting.images)
            for cell in filter(self._possible, cells)
            for setting in (cell.baseline, cell.setting)
        }
        for workload, scale, images in sorted(wanted):
            self._prepare_images(workload, scale, images)
        described = environment.describe(self.hardware, self._resolved(cells))
        if self.options.resume is None:
            self.run = RunFolder.create(self.options.runs, described)
        else:
            self.run = RunFolder.open(self.options.resume, self.options.runs)

    def prepare(self, origin: Origin, scale: str, images: str = Setting.images) -> None:
        """Make the data of a workload, where it comes from; raises OptionError."""
        job = self._job(origin.workload, scale, Setting(images=images))
        prepare(self._launcher_in(origin.environment), self._reaper, job)

    def _prepare_images(self, workload: str, scale: str, images: str) -> None:
        """What cannot be made beside the plain data costs the cells that want it, no others."""
        try:
            self.prepare(Origin(workload), scale, images)
        except OptionError as error:
            if images == Setting.images:
                raise
            self._unprepared[workload, scale, images] = str(error)

    @property
    def given_variables(self) -> tuple[tuple[str, str], ...]:
        """Of the environment, that every arm of this run has."""
        return STEADY_MALLOC if self.options.steady_malloc else ()

    def _launcher_in(self, environment: Environment) -> Launcher:
        variables = (*environment.variables, *self.given_variables)
        environment = replace(environment, variables=variables)
        if environment not in self._launchers:
            launcher = self._launchers[environment] = launcher_for(environment)
            self._open.callback(launcher.close)
        return self._launchers[environment]

    def unprepared(self, cell: Cell) -> str | None:
        """Why the images that the cell asks for could not be made, or None."""
        return self._unprepared.get((cell.workload, self.scale_of(cell), cell.setting.images))

    def drop_launchers(self) -> None:
        """A fork server is gone: the next arm gets another."""
        self._launchers.clear()

    def fresh_launchers(self, environments: Sequence[Environment]) -> None:
        """New fork servers, all at once: starts from one server share its layout in memory."""
        for launcher in self._launchers.values():
            launcher.close()
        self._launchers.clear()
        for each in environments:
            self._launcher_in(each)

    def close(self) -> None:
        """End every process of this run. Idempotent."""
        self._open.close()

    @property
    def finished(self) -> set[str]:
        """Cases that a resumed run holds an answer for already."""
        return {record.cell for record in self.run.records() if record.outcome != "not_run"}

    def elapsed_s(self) -> float:
        return self.clock() - self._began

    def budget_left_s(self) -> float:
        return self._budget_s() - self.elapsed_s()

    def _budget_s(self) -> float:
        if self.options.budget_s is not None:
            return self.options.budget_s
        if not self._quick:
            return float("inf")
        on_cpu = self.hardware.accelerator is None
        return QUICK_BUDGET_S if on_cpu else QUICK_BUDGET_ON_ACCELERATOR_S

    def _resolved(self, cells: Sequence[Cell]) -> dict[str, Any]:
        """The options with what was chosen for the user."""
        budget_s = self._budget_s()
        return self.options.to_dict() | {
            "devices": sorted({cell.device for cell in cells}),
            "scale": ", ".join(sorted({self.scale_of(cell) for cell in cells})),
            "tier": "quick" if self._quick else "full",
            "budget_s": None if budget_s == float("inf") else budget_s,
        }

    def scale_of(self, cell: Cell) -> str:
        if self.options.scale:
            return self.options.scale
        return cell.scale or default_scale(self.hardware, cell.device)

    def start_arm(
        self,
        origin: Origin,
        scale: str,
        setting: Setting,
        timeout_s: float,
        compiled: str | None = None,
        *,
        memory_bytes: int | None = None,
        launcher: Launcher | None = None,
    ) -> Arm:
        """A training that is being built; raises ArmFault, see `Arm.start`.

        compiled: where torch.compile keeps its kernels; None: where it usually does.
        memory_bytes: of its own that each of its processes may have; None: no limit.
        launcher: what starts it; None: the fork server of its environment.
        """
        job = self._job(origin.workload, scale, setting)
        job |= {"compiled": compiled, "memory_bytes": memory_bytes}
        if launcher is None:
            variables = (*origin.environment.variables, *setting.variables)
            launcher = self._launcher_in(replace(origin.environment, variables=variables))
        return Arm.start(launcher, self._reaper, job, timeout_s)

    def _possible(self, cell: Cell) -> bool:
        return cell.impossible(self.hardware) is None

    def _job(self, workload: str, scale: str, setting: Setting) -> dict[str, Any]:
        """What an arm is to do: see `rank.py`."""
        options = self.options
        return {
            "workload": workload,
            "scale": scale,
            "setting": setting.to_dict(),
            "cache": str(options.cache),
            "images": str(options.images) if options.images else None,
            "text": str(options.text) if options.text else None,
            "cores": self.hardware.usable_cores,
            "seed": SEED,
            "warm_up_s": options.plan_on(setting.device).warm_up_s,
        }


def default_scale(machine: Hardware, device: str) -> str:
    """tiny on a CPU; on an accelerator full where two arms fit into its memory, else small."""
    if device == "cpu":
        return "tiny"
    memory = [gpu.memory_bytes or 0 for gpu in machine.gpus if gpu.device == device]
    return "full" if memory and min(memory) >= FULL_SCALE_BYTES else "small"


FAULTS_BEFORE_MEASURING = (OptionError, HardwareError, LaunchError, StoreError)
