"""How batches come to the training process."""

from benchmarks.setting import Setting
from benchmarks.techniques.technique import Evidence, Finding, Technique


def workers(count: int) -> Technique:
    """Loader processes decode and augment while the training process trains."""
    return Technique(
        name=f"workers{count}",
        change={"num_workers": count},
        why="loads and preprocesses the next batches while this one trains",
        api="DataLoader(num_workers=...)",
        checks={"loader_workers": _live_workers},
    )


def _live_workers(setting: Setting, evidence: Evidence) -> Finding:
    alive = evidence["loader_workers"]
    return alive == setting.num_workers, f"{alive} of {setting.num_workers} loader workers alive"
