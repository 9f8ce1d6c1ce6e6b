"""A torchvision of the version, or with the fault, that STAND_IN_TORCH names."""

import json
import os

_says = json.loads(os.environ["STAND_IN_TORCH"])
if "torchvision_raises" in _says:
    raise RuntimeError(_says["torchvision_raises"])
__version__ = _says.get("torchvision", "0.29.1")
