"""A setting: every knob of how a workload is trained, as plain data."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

SCALED_PRECISIONS = ("amp_fp16",)  # fp16 gradients underflow without a GradScaler
MATRIX_KNOBS = ("device", "num_workers", "prefetch_factor", "precision", "parallel")
STRATEGY = re.compile(r"(ddp|fsdp|zero|pp)(\d+)")  # those that are made of ranks


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The defaults are the plain setting that everything else is compared with.

    Every knob belongs to one module of `training`, which applies it and reads it back.
    """

    device: str = "cpu"

    # loading
    num_workers: int = 0
    prefetch_factor: int = 2  # batches each worker prepares ahead; no meaning without workers
    pin_memory: bool = False
    non_blocking: bool = False
    copy_stream: bool = False  # the next batch travels on a stream of its own
    epoch_steps: int = 0  # steps until the loader starts over; 0: never
    persistent_workers: bool = False  # kept from epoch to epoch

    # preprocessing of images
    decode: str = "pil"  # pil, torchvision: in the loader; device: nvJPEG
    augment: str = "loader"  # loader, device
    images: str = "as_stored"  # as_stored; resized: once, before training

    # arithmetic
    precision: str = "fp32"  # fp32 (IEEE), tf32, amp_bf16, amp_fp16, bf16 (weights too)
    memory_format: str = "contiguous"  # contiguous, channels_last
    compile: str = "none"  # none, or a mode of torch.compile
    attention: str = "default"  # default, math, efficient, flash, cudnn

    # optimizer
    optimizer: str = "default"  # default, for_loop, foreach, fused
    zero_grad: str = "to_none"  # to_none, to_zero
    learning_rate: float = 1.0  # times the scale's
    lr_warm_up_steps: int = 0

    # batch and memory
    batch: float = 1.0  # per device, times the scale's
    accumulate: int = 1  # micro-batches that the batch is cut into
    no_sync: bool = False  # gradients are averaged after the last micro-batch only
    checkpointing: bool = False

    # "single", "dp" (DataParallel over every visible GPU), "mp" (layers on two devices, in one
    # process), or a strategy and its ranks on this machine: ddp<N>, fsdp<N>, zero<N> (DDP with a
    # sharded optimizer), pp<N> (a pipeline of N stages)
    parallel: str = "single"
    bucket_mb: int = 0  # of DDP; 0: torch's default
    static_graph: bool = False
    bucket_view: bool = False

    # process
    threads: int = 0  # intra-op, of each rank; 0: the cores shared out
    variables: tuple[tuple[str, str], ...] = ()  # of the environment, set before Python starts

    @property
    def strategy(self) -> str:
        """How the work is shared, without the number of ranks."""
        match = STRATEGY.fullmatch(self.parallel)
        return match[1] if match else self.parallel

    @property
    def world_size(self) -> int:
        """Rank processes."""
        match = STRATEGY.fullmatch(self.parallel)
        return int(match[2]) if match else 1

    @property
    def data_parallel(self) -> int:
        """Ranks that take batches of their own: the stages of a pipeline share theirs."""
        return 1 if self.strategy == "pp" else self.world_size

    @property
    def prefetched_batches(self) -> int:
        """Batches that may lie ready when training pauses: the loader's, and one on the device."""
        return self.num_workers * self.prefetch_factor + self.copy_stream

    def to_dict(self) -> dict[str, Any]:
        """The knobs of the matrix, and of the others those that are turned.

        So that a knob which a later version brings does not tell records apart that do not use it.
        """
        values = asdict(self)
        return {
            field.name: values[field.name]
            for field in fields(self)
            if field.name in MATRIX_KNOBS or values[field.name] != field.default
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """As `to_dict` gives it, before or after JSON."""
        known = {field.name: values[field.name] for field in fields(cls) if field.name in values}
        if "variables" in known:
            known["variables"] = tuple((name, value) for name, value in known["variables"])
        return cls(**known)
