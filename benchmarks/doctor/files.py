"""Small system files, which may be absent, hidden or unreadable: then they say nothing."""

from pathlib import Path


def text(path: Path) -> str:
    """The stripped text of `path`, or "" where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
