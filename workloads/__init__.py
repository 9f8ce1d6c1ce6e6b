"""What is trained: model, loss, optimizer, data and the unit counted.

This room knows no device, precision, clock or record. Importing it loads no torch: a workload names
its parts as "package.module:attribute", and only building one imports them.
"""

from workloads.catalog import CATALOG
from workloads.loading import load
from workloads.workload import SCALES, Scale, Source, Workload, WorkloadError

__all__ = ["CATALOG", "SCALES", "Scale", "Source", "Workload", "WorkloadError", "load"]
