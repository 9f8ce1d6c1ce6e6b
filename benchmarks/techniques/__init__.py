"""Techniques: named changes of a setting; one module a family, all of them in the registry."""

from benchmarks.techniques.loading import workers
from benchmarks.techniques.parallel import DP, SINGLE, ddp
from benchmarks.techniques.precision import AMP_BF16, AMP_FP16, FP32
from benchmarks.techniques.registry import FAMILIES, checks, device_needs, find
from benchmarks.techniques.technique import IMAGES, Check, Evidence, Finding, Technique

__all__ = [
    "AMP_BF16",
    "AMP_FP16",
    "DP",
    "FAMILIES",
    "FP32",
    "IMAGES",
    "SINGLE",
    "Check",
    "Evidence",
    "Finding",
    "Technique",
    "checks",
    "ddp",
    "device_needs",
    "find",
    "workers",
]
