"""`python -m benchmarks.doctor`: the same page as `python -m benchmarks doctor`."""

import sys

from benchmarks.doctor.examine import examine

if __name__ == "__main__":
    sys.exit(examine())
