"""The page GitHub shows for a job: Markdown appended to the file it names."""

import os
from collections.abc import Mapping
from pathlib import Path

from results.store import StoreError

VARIABLE = "GITHUB_STEP_SUMMARY"
LARGEST_BYTES = 1 << 20  # of one step; GitHub drops a larger page whole
CUT = "\n\n(cut: the rest is in the artefacts of the job)\n"


def append_job_summary(markdown: str, environ: Mapping[str, str] = os.environ) -> bool:
    """Append to the job's page; False outside of GitHub Actions, where nothing is written.

    What does not fit any more is cut at a line, and the page says so. Raises StoreError where the
    file cannot be written: the caller still has its verdict to give.
    """
    named = environ.get(VARIABLE)
    if not named:
        return False
    path = Path(named)
    try:
        room = LARGEST_BYTES - (path.stat().st_size if path.exists() else 0)
        with path.open("ab") as file:
            file.write(_fitting(markdown.rstrip("\n") + "\n\n", room))
    except OSError as error:
        why = error.strerror or str(error)
        raise StoreError(f"cannot write the job summary {path} (${VARIABLE}): {why}") from error
    return True


def _fitting(text: str, room: int) -> bytes:
    whole = text.encode(errors="replace")
    if len(whole) <= room:
        return whole
    left = room - len(CUT.encode())
    if left <= 0:
        return b""
    return whole[:left].rpartition(b"\n")[0] + CUT.encode()
