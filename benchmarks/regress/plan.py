"""How much a gate measures, the same in `regress` and in `calibrate`: it holds for a plan."""

SCREENING_STARTS = 4
CONFIRMING_STARTS = 8
DEFAULT_WORKLOADS = "resnet18,gpt2"
# Most of the spread is between starts: on a CPU, shorter blocks buy more of them.
ON_CPU = {"pairs": "2", "block_seconds": "0.3"}


def plan_words(device: str) -> dict[str, str]:
    """Options of the suite, as on a command line; an accelerator has its usual plan."""
    return dict(ON_CPU) if device == "cpu" else {}
