"""What runs inside a rank: a workload trained under a setting. Imports torch."""

from benchmarks.training.place import Place, device_of
from benchmarks.training.training import KEPT_LOSSES, PARTS, Mark, Training

__all__ = ["KEPT_LOSSES", "PARTS", "Mark", "Place", "Training", "device_of"]
