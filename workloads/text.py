"""Token sequences from a file: the generated corpus, or a user's text read as bytes."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset

from workloads import corpus
from workloads.stream import item_at
from workloads.workload import Source, WorkloadError


@dataclass(frozen=True)
class TokenFile:
    """A file of tokens, one after the other, read piece by piece: it is never in memory whole."""

    path: Path
    dtype: str

    def __len__(self) -> int:
        return self.path.stat().st_size // np.dtype(self.dtype).itemsize

    def read(self, start: int, count: int) -> Tensor:
        """Tokens start to start + count, int64 (count,)."""
        offset = start * np.dtype(self.dtype).itemsize
        tokens = np.fromfile(self.path, self.dtype, count, offset=offset)
        return torch.from_numpy(tokens.astype(np.int64))


class NextTokens(Dataset[tuple[Tensor, Tensor]]):
    """Endless stream of (tokens (length,), the tokens one further on (length,)), both int64.

    Args:
        source: where a user's text is, or the generated corpus goes.
        length: tokens in a sequence.
        vocabulary: number of different tokens generated; a text has 256, its bytes.
        count: tokens to generate; a user's text is taken whole.

    Raises:
        WorkloadError: the user's text cannot be read or is shorter than one sequence.
    """

    def __init__(self, source: Source, *, length: int, vocabulary: int, count: int) -> None:
        self.length = length
        if source.text:
            self.file = text_file(source.text, at_least=length + 1)
        else:
            path = corpus.generate(source.cache, vocabulary=vocabulary, chains=1, count=count)
            self.file = TokenFile(path, corpus.DTYPE)
        self.windows = (len(self.file) - 1) // length

    def __getitem__(self, position: int) -> tuple[Tensor, Tensor]:
        start = item_at(position, self.windows) * self.length
        tokens = self.file.read(start, self.length + 1)
        return tokens[:-1], tokens[1:]


class Sections(Dataset[tuple[Tensor, int]]):
    """Endless stream of ([CLS] and tokens (length,) int64, the section of the file they are from).

    A generated corpus has a section from each of its chains; a user's text has two, its halves.

    Args:
        source: where a user's text is, or the generated corpus goes.
        length: tokens in a sequence, with [CLS], the last token of the vocabulary.
        vocabulary: number of different tokens, with [CLS]; a text needs 257.
        chains: chains that write the generated corpus.
        count: tokens to generate; a user's text is taken whole.

    Raises:
        WorkloadError: the user's text cannot be read or has halves shorter than one sequence.
    """

    def __init__(
        self, source: Source, *, length: int, vocabulary: int, chains: int, count: int
    ) -> None:
        self.start = torch.tensor([vocabulary - 1])
        self.taken = length - 1
        if source.text:
            sections = 2
            self.file = text_file(source.text, at_least=sections * self.taken)
        else:
            sections = chains
            path = corpus.generate(
                source.cache, vocabulary=vocabulary - 1, chains=chains, count=count
            )
            self.file = TokenFile(path, corpus.DTYPE)
        self.section_tokens = len(self.file) // sections
        self.section_windows = self.section_tokens // self.taken
        self.windows = sections * self.section_windows

    def __getitem__(self, position: int) -> tuple[Tensor, int]:
        section, window = divmod(item_at(position, self.windows), self.section_windows)
        start = section * self.section_tokens + window * self.taken
        return torch.cat([self.start, self.file.read(start, self.taken)]), section


def text_file(path: Path, at_least: int) -> TokenFile:
    """A user's text as bytes.

    Raises:
        WorkloadError: it cannot be read, or has fewer than `at_least` bytes.
    """
    try:
        with path.open("rb"):
            text = TokenFile(path, "u1")
        size = len(text)
    except OSError as error:
        raise WorkloadError(f"cannot read text file {path}: {error.strerror}") from error
    if size < at_least:
        raise WorkloadError(
            f"text file {path} has {size} bytes, this scale needs {at_least}: "
            "give a longer text or a smaller scale"
        )
    return text
