"""A Triton to find: importing the real one takes most of a visit."""

__version__ = "3.8.0"
