"""A share on the command line: "5%". A bare 0.05 could mean two things and is refused."""

import argparse


def share(text: str) -> float:
    """0.05 for "5%". Raises ArgumentTypeError for anything else, and outside of [0%, 100%)."""
    try:
        if not text.strip().endswith("%"):
            raise ValueError
        value = float(text.strip().removesuffix("%")) / 100
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no percentage: write 5%") from None
    if not 0 <= value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} must be at least 0% and below 100%")
    return value
