"""How often ranks exchange something: counted as torch calls its process groups."""

from collections import Counter
from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode


class Collectives(TorchDispatchMode):
    """Counts the operators of torch.distributed that run inside: `counts["allreduce_"]`, ..."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.counts: Counter[str] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.namespace in ("c10d", "_c10d_functional"):
            self.counts[func.overloadpacket.__name__] += 1
        return func(*args, **(kwargs or {}))
