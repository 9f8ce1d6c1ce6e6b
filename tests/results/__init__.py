"""Mirrors the results room."""
