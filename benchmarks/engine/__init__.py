"""The paired experiment, and how its arms are started, stopped and ended. Imports no torch."""
