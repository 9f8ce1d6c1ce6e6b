"""A setting: every knob of how a workload is trained, as plain data."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

SCALED_PRECISIONS = ("amp_fp16",)  # fp16 gradients underflow without a GradScaler


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The defaults are the plain setting that everything else is compared with.

    `parallel` is "single", "dp" (DataParallel over every visible GPU) or "ddp<N>"
    (DistributedDataParallel, N ranks on this machine).
    """

    device: str = "cpu"
    num_workers: int = 0
    prefetch_factor: int = (
        2  # batches each loader worker prepares ahead; no meaning without workers
    )
    precision: str = "fp32"
    parallel: str = "single"

    @property
    def world_size(self) -> int:
        """Rank processes."""
        return int(self.parallel.removeprefix("ddp")) if self.parallel.startswith("ddp") else 1

    @property
    def prefetched_batches(self) -> int:
        """Batches that the loader may hold ready when training pauses."""
        return self.num_workers * self.prefetch_factor

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        return cls(
            **{field.name: values[field.name] for field in fields(cls) if field.name in values}
        )
