"""Runs code that imports torch in a process of its own: pytest's must stay without it."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent


def answer_of(code: str) -> Any:
    """What `code` leaves in its variable `answer`, as JSON."""
    done = subprocess.run(
        [sys.executable, "-c", f"import json\n{code}\nprint(json.dumps(answer))"],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])
