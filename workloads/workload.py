"""What a workload is: one short declaration, and how its parts are built from it."""

import importlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # torch takes seconds to import, and listing workloads needs none of it
    from torch import Tensor, nn
    from torch.optim import Optimizer
    from torch.utils.data import Dataset

SCALES = ("tiny", "small", "full")
"""`tiny` for a CPU and CI, `small` for a laptop GPU, `full` as published, for a data-centre GPU."""


class WorkloadError(Exception):
    """A workload cannot be found or built; one line that says what to do."""


@dataclass(frozen=True, kw_only=True)
class Scale:
    """How large a workload is trained."""

    batch: int
    """Samples per device and step."""
    learning_rate: float
    """For this batch on one device; scaling it with the global batch is the caller's choice."""
    model: Mapping[str, Any]
    """Keyword arguments of the model."""
    data: Mapping[str, Any]
    """Keyword arguments of the data."""
    units: int = 1
    """Units counted per sample: a sequence of 128 tokens counts 128 where the unit is tokens."""
    target_loss: float | None = None
    """Training loss, smoothed, that time to a target is measured to; None: it is not measured."""


@dataclass(frozen=True)
class Source:
    """Where data comes from: generated into `cache` unless the user brings some."""

    cache: Path
    """Folder for generated data; made when needed."""
    images: Path | None = None
    """A user's ImageFolder: one folder of images per class."""
    text: Path | None = None
    """A user's text file, read as bytes."""


@dataclass(frozen=True, kw_only=True)
class Workload:
    """What is trained. Parts are callables, or "package.module:attribute", imported when built.

    - `model(**scale.model)` gives a module from a batch of inputs to logits (..., classes).
    - `data(source, **scale.data)` gives a map-style dataset over an endless stream:
      `data[position]` is one (input, target) for any position >= 0, a pure function of the
      position, and leaves the caller's random state alone. It may have `collate`, as a DataLoader
      takes it, and `finish(inputs, device, seed)`: what it leaves to be done to a batch there.
    - `optimizer(parameters, lr=..., **implementation)`; the last are `fused`, `foreach`, ...
    - `loss(logits, targets)` gives a scalar.
    - `pieces(model)` gives its modules as a row, each to be called on what the one before it
      returned: where a model may be cut in stages. An `nn.Sequential` needs none.
    """

    name: str
    unit: str
    """What throughput counts, in the plural: images, sequences, tokens."""
    model: "str | Callable[..., nn.Module]"
    data: "str | Callable[..., Dataset[tuple[Any, Any]]]"
    optimizer: "str | Callable[..., Optimizer]"
    loss: "str | Callable[[Tensor, Tensor], Tensor]" = "workloads.losses:cross_entropy"
    pieces: "str | Callable[..., list[nn.Module]] | None" = None
    attention: bool = False
    """Its model calls `scaled_dot_product_attention`, so that there are kernels to choose from."""
    scales: Mapping[str, Scale]

    def scale(self, name: str) -> Scale:
        """The scale called `name`, or the only one there is.

        Raises:
            WorkloadError: there are several, none of that name.
        """
        if name in self.scales:
            return self.scales[name]
        if len(self.scales) == 1:
            return next(iter(self.scales.values()))
        known = ", ".join(self.scales) or "none"
        raise WorkloadError(f"workload {self.name} has no scale '{name}': choose from {known}")

    def build_model(self, scale: Scale) -> "nn.Module":
        """A freshly initialised model, on torch's current default device."""
        model: nn.Module = self._part("model")(**scale.model)
        return model

    def cut(self, model: "nn.Module") -> "list[nn.Module] | None":
        """The model's pieces, in the order in which they are called; None where none are known."""
        from torch.nn import Sequential

        if self.pieces is None:
            return list(model) if isinstance(model, Sequential) else None
        pieces: list[nn.Module] = self._part("pieces")(model)
        return pieces

    def build_data(
        self, scale: Scale, source: Source, **preprocessing: Any
    ) -> "Dataset[tuple[Any, Any]]":
        """The endless dataset; generates what is missing in `source.cache`.

        `preprocessing` (decode, augment, images) goes to data that can be loaded in several ways.

        Raises:
            WorkloadError: the user's data does not serve, or the cache cannot be written.
        """
        data: Dataset[tuple[Any, Any]] = self._part("data")(source, **scale.data, **preprocessing)
        return data

    def build_loss(self) -> "Callable[[Tensor, Tensor], Tensor]":
        """The function from logits and targets to a scalar loss."""
        return self._part("loss")

    def build_optimizer(
        self,
        parameters: "Iterable[nn.Parameter]",
        scale: Scale,
        **implementation: Any,
    ) -> "Optimizer":
        """The optimizer at the scale's learning rate; `implementation` is `fused=True`, ..."""
        build = self._part("optimizer")
        optimizer: Optimizer = build(parameters, lr=scale.learning_rate, **implementation)
        return optimizer

    def prepare(self, scale: Scale, source: Source, **preprocessing: Any) -> None:
        """Make what is generated once (JPEG files, corpus), so that no measured process has to.

        Safe to repeat and to run in two processes at once. Building data makes what is missing,
        which gives a user's own workload this method without writing it.
        """
        self.build_data(scale, source, **preprocessing)

    def _part(self, field: str) -> Callable[..., Any]:
        part: str | Callable[..., Any] = getattr(self, field)
        if not isinstance(part, str):
            return part
        try:
            found = _attribute(part)
        except (ImportError, AttributeError, ValueError) as error:
            raise WorkloadError(
                f"workload {self.name}: cannot import its {field} '{part}' "
                f'(want "package.module:attribute"): {error}'
            ) from error
        return found


def _attribute(reference: str) -> Callable[..., Any]:
    module, _, attribute = reference.partition(":")
    found: Callable[..., Any] = getattr(importlib.import_module(module), attribute)
    return found
