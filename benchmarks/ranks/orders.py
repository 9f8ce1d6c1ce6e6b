"""What a rank can be ordered to do; rank 0 passes each order on, so that all ranks do the same."""

from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import torch

from benchmarks.ranks import ceiling, flops
from benchmarks.ranks.breakdown import break_down
from benchmarks.ranks.evidence import gpu_uuids, read_back
from benchmarks.ranks.marks import marks_for
from benchmarks.ranks.profiling import profile_nsys, profile_torch
from benchmarks.training import Training
from benchmarks.training.checkpointing import without_recomputing
from benchmarks.training.observation import observe
from benchmarks.training.target import train_to
from benchmarks.training.watch import watched

Order = dict[str, Any]
CUT = ("fsdp", "pp", "mp")  # strategies under which no rank or device has the whole model


class Orders:
    """Carries out orders, on all ranks alike.

    build: another training like this one, from the seed.
    """

    def __init__(self, training: Training, build: Callable[[int], Training]) -> None:
        self.training = training
        self._build = build
        self._seen: dict[str, Any] = {}  # in the watched step
        self._known: dict[str, Callable[[Order], dict[str, Any]]] = {
            "run": self._run,
            "watch": self._watch,
            "name_gpus": self._name_gpus,
            "read_back": self._read_back,
            "train_to": self._train_to,
            "break_down": self._break_down,
            "count_flops": self._count_flops,
            "multiply": self._multiply,
            "profile": self._profile,
            "profile_nsys": self._profile_nsys,
            "leave": self._leave,
        }

    def give(self, order: Order) -> dict[str, Any]:
        """Rank 0: to the other ranks, and here."""
        if self.training.place.world > 1:
            torch.distributed.broadcast_object_list([order], src=0, device=torch.device("cpu"))
        return self._carry_out(order)

    def follow(self) -> None:
        """Any other rank: until rank 0 says to leave."""
        while True:
            box: list[Any] = [None]
            torch.distributed.broadcast_object_list(box, src=0, device=torch.device("cpu"))
            self._carry_out(box[0])
            if box[0]["do"] == "leave":
                return

    def _carry_out(self, order: Order) -> dict[str, Any]:
        return self._known[order["do"]](order)

    def _name_gpus(self, _: Order) -> dict[str, Any]:
        return {"gpus": sorted(set(self._gather(gpu_uuids(self.training))))}

    def _read_back(self, order: Order) -> dict[str, Any]:
        evidence = read_back(self.training) | self._seen
        if order["observe"]:
            evidence |= observe(self.training)
        workers = self._gather([evidence["loader_workers"]])
        return {"evidence": evidence | {"loader_workers": min(workers)}}

    def _train_to(self, order: Order) -> dict[str, Any]:
        """From the first step on, in a process that is warm."""
        del self.training.batches
        self.training = self._build(order["seed"])
        limits = {name: order[name] for name in ("target", "window", "limit_samples")}
        return {"run": train_to(self.training, **limits)}

    def _break_down(self, order: Order) -> dict[str, Any]:
        return {"breakdown": break_down(self.training, order["steps"])}

    def _profile(self, order: Order) -> dict[str, Any]:
        trace = self._own(order["trace"])
        return {"top": profile_torch(self.training, order["steps"], trace)}

    def _profile_nsys(self, order: Order) -> dict[str, Any]:
        profile_nsys(self.training, order["steps"])
        return {}

    def _leave(self, _: Order) -> dict[str, Any]:
        return {"left": True}

    def _run(self, order: Order) -> dict[str, Any]:
        """Untimed steps to drain what was prefetched, then blocks of `steps`, each timed as one.

        The clock starts after a synchronisation of devices and ranks, and stops after one.
        """
        for _ in range(order["drain"]):
            self.training.step()
        return {"blocks": [self._timed_block(order["steps"]) for _ in range(order["blocks"])]}

    def _timed_block(self, steps: int) -> dict[str, Any]:
        training = self.training
        marks = marks_for(training.device)
        training.synchronize()
        start = perf_counter()
        for _ in range(steps):
            marks.set("step")
            training.step()
        marks.set("end")
        training.synchronize()
        seconds = perf_counter() - start
        return {
            "seconds": seconds,
            "steps": steps,
            "units": steps * training.units_per_step,
            "step_s": [taken for _, taken in marks.intervals_s()],
        }

    def _watch(self, _: Order) -> dict[str, Any]:
        """One step of the warm-up, with hooks on the model and its layers."""
        if self.training.setting.static_graph:  # its first two steps use one bucket for all
            self.training.step()
        with watched(self.training) as self._seen:
            return {"blocks": [self._timed_block(1)]}

    def _count_flops(self, _: Order) -> dict[str, Any]:
        """FLOPs of a step, of all ranks and devices together."""
        training = self.training
        inputs, targets = training.to_device(next(training.batches))
        share = slice(len(inputs) // training.replicas)
        whole = training.module  # of this rank, to be counted without the others
        if training.setting.strategy in CUT:
            whole = training.build_model().to(training.device)
        with without_recomputing(whole):
            one = flops.count(
                whole, training.loss, training.autocast, inputs[share], targets[share]
            )
        copies = training.data_place.world * training.replicas
        devices = training.place.world * len(training.devices)
        total = None if one.per_step is None else one.per_step * copies
        return {"per_step": total, "reason": one.reason, "devices": devices}

    def _multiply(self, order: Order) -> dict[str, Any]:
        """The measured matmul ceiling of all ranks and devices together, FLOP/s."""
        training = self.training
        training.synchronize()
        one = ceiling.matmul_flops_per_s(training.device, order["dtype"])
        return {"flops_per_s": sum(self._gather([one])) * len(training.devices)}

    def _own(self, trace: str) -> Path:
        """Rank 0 writes where it was told to, the others beside it."""
        rank = self.training.place.rank
        return Path(trace) if rank == 0 else Path(trace).with_suffix(f".rank{rank}.json")

    def _gather(self, values: list[Any]) -> list[Any]:
        if self.training.place.world == 1:
            return values
        gathered: list[Any] = [None] * self.training.place.world
        torch.distributed.all_gather_object(gathered, values)
        return [value for part in gathered for value in part]
