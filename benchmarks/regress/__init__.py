"""Did this revision, this torch, this driver slow training down? Two environments, one job.

The arms of a pair differ in where they run, not in the setting; everything else is the engine of
the matrix. What the figures mean is decided in `results.gate`.
"""
