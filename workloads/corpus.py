"""A generated corpus: tokens as frequent as words are, each with a few likely successors.

Several Markov chains write one section each. Next-token loss falls first to the entropy of the
frequencies, then of the successors (about 2 nats); which chain wrote a passage can be told from the
words it prefers.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from workloads.once import make_once

DTYPE = "<u2"  # two bytes hold 65,536 tokens, more than either published vocabulary
SUCCESSORS = 4  # likely successors of each token
SURPRISE = 0.1  # share of tokens that follow from nothing; without it a chain may run in a circle
LANES = 256  # passages that a chain writes side by side, for speed
VERSION = 1  # in the folder's name: another corpus must not be taken for an old one


def generate(cache: Path, *, vocabulary: int, chains: int, count: int) -> Path:
    """File of about `count` tokens below `vocabulary`, in `chains` equal sections; made if missing.

    Raises:
        ValueError: tokens of this vocabulary do not fit two bytes.
    """
    if vocabulary > np.iinfo(DTYPE).max + 1:
        raise ValueError(f"vocabulary {vocabulary} does not fit tokens of two bytes")

    def fill(folder: Path) -> None:
        with (folder / "tokens").open("wb") as file:
            for chain in range(chains):
                file.write(write(chain, vocabulary, count // chains).astype(DTYPE).tobytes())

    name = f"corpus-v{VERSION}-{vocabulary}-{chains}-{count}"
    return make_once(cache / name, fill) / "tokens"


def write(chain: int, vocabulary: int, count: int) -> NDArray[np.int64]:
    """`count` tokens by chain number `chain`, rounded down to whole lanes."""
    rng = np.random.default_rng((VERSION, chain, vocabulary))
    words = rng.permutation(vocabulary)  # the most frequent first, another order in each chain

    def by_frequency(*shape: int) -> NDArray[np.int64]:
        ranks = vocabulary ** rng.random(shape)  # log-uniform: P(rank) ~ 1 / rank, Zipf's law
        chosen: NDArray[np.int64] = words[ranks.astype(np.int64) - 1]
        return chosen

    successors = by_frequency(vocabulary, SUCCESSORS)
    tokens = np.empty((LANES, count // LANES), np.int64)
    token = by_frequency(LANES)
    for place in range(tokens.shape[1]):
        follows = successors[token, rng.integers(SUCCESSORS, size=LANES)]
        token = np.where(rng.random(LANES) < SURPRISE, by_frequency(LANES), follows)
        tokens[:, place] = token
    return tokens.ravel()
