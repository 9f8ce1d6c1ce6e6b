"""The corpus is as long and as predictable as it says, and each chain has its own words."""

from pathlib import Path

import numpy as np
import pytest

from workloads.corpus import DTYPE, generate, write


def entropy(counts: np.ndarray) -> float:
    """Of the distribution that `counts` shows, in nats."""
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log(shares)).sum())


def test_file_holds_one_section_of_each_chain(tmp_path: Path) -> None:
    path = generate(tmp_path, vocabulary=300, chains=2, count=4096)
    tokens = np.fromfile(path, DTYPE)
    assert len(tokens) == 4096
    assert tokens.max() < 300
    assert np.array_equal(tokens[:2048], write(0, 300, 2048))
    assert np.array_equal(tokens[2048:], write(1, 300, 2048))


def test_corpus_is_made_once(tmp_path: Path) -> None:
    first = generate(tmp_path, vocabulary=300, chains=2, count=4096)
    made = first.stat().st_mtime_ns
    assert generate(tmp_path, vocabulary=300, chains=2, count=4096).stat().st_mtime_ns == made
    assert generate(tmp_path, vocabulary=300, chains=4, count=4096) != first


def test_vocabulary_beyond_two_bytes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="70000"):
        generate(tmp_path, vocabulary=70_000, chains=1, count=4096)
    assert list(tmp_path.iterdir()) == []


def test_previous_token_tells_much_about_the_next() -> None:
    vocabulary = 64
    tokens = write(0, vocabulary, 2**18)
    pairs = np.zeros((vocabulary, vocabulary))
    np.add.at(pairs, (tokens[:-1], tokens[1:]), 1)
    alone = entropy(pairs.sum(0))
    given_previous = entropy(pairs.ravel()) - entropy(pairs.sum(1))
    assert given_previous < 2.0 < alone - 0.5 < np.log(vocabulary) - 0.5


def test_chains_prefer_different_words() -> None:
    shares = [np.bincount(write(chain, 200, 2**15), minlength=200) / 2**15 for chain in range(2)]
    assert np.abs(shares[0] - shares[1]).sum() / 2 > 0.4  # total variation; equal chains: about 0
