"""What a workload cannot do under a setting, known only once it is there: a skip, no failure."""


class UnsuitedError(Exception):
    """One sentence that says what is missing."""
