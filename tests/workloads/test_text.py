"""Sequences are cut from a file: in order inside, permuted outside, labelled by place."""

from pathlib import Path

import pytest
import torch

from workloads import Source, WorkloadError
from workloads.text import NextTokens, Sections, text_file


def text(folder: Path, content: bytes) -> Source:
    """A source whose text is `content`, and whose cache must not be touched."""
    path = folder / "text.txt"
    path.write_bytes(content)
    return Source(cache=folder / "cache", text=path)


def next_tokens(source: Source, length: int) -> NextTokens:
    return NextTokens(source, length=length, vocabulary=256, count=4096)


def sections(source: Source, length: int, chains: int = 4) -> Sections:
    return Sections(source, length=length, vocabulary=257, chains=chains, count=4096)


def test_targets_are_the_tokens_one_further_on(tmp_path: Path) -> None:
    data = next_tokens(text(tmp_path, bytes(range(100))), length=8)
    tokens, targets = data[3]
    assert tokens.dtype == targets.dtype == torch.int64
    assert tokens.tolist() == list(range(tokens[0], tokens[0] + 8))
    assert torch.equal(targets, tokens + 1)


def test_a_pass_reads_the_whole_text_once(tmp_path: Path) -> None:
    data = next_tokens(text(tmp_path, bytes(range(41))), length=8)
    read = torch.cat([data[position][0] for position in range(5)])
    assert sorted(read.tolist()) == list(range(40))


def test_text_of_exactly_one_sequence_is_enough(tmp_path: Path) -> None:
    data = next_tokens(text(tmp_path, b"abc"), length=2)
    assert [part.tolist() for part in data[77]] == [[97, 98], [98, 99]]


def test_text_is_read_as_bytes_whatever_its_encoding(tmp_path: Path) -> None:
    data = next_tokens(text(tmp_path, "é\0".encode() + b"\xff"), length=3)
    assert data[0][0].tolist() == [0xC3, 0xA9, 0]


def test_label_of_a_text_is_its_half(tmp_path: Path) -> None:
    data = sections(text(tmp_path, b"a" * 30 + b"b" * 31), length=11)
    seen = {
        (bytes(tokens[1:].tolist()), label) for tokens, label in map(data.__getitem__, range(6))
    }
    assert seen == {(b"a" * 10, 0), (b"b" * 10, 1)}


def test_sequence_starts_with_cls(tmp_path: Path) -> None:
    tokens, _ = sections(text(tmp_path, b"a" * 60), length=11)[0]
    assert tokens[0] == 256
    assert (tokens.shape, tokens.dtype) == ((11,), torch.int64)


def test_users_text_generates_nothing(tmp_path: Path) -> None:
    source = text(tmp_path, b"a" * 60)
    next_tokens(source, length=11)
    sections(source, length=11)
    assert not source.cache.exists()


def test_label_of_a_generated_corpus_is_its_chain(tmp_path: Path) -> None:
    data = sections(Source(cache=tmp_path), length=17, chains=4)
    assert data.windows == 4 * (1024 // 16)
    labels = [data[position][1] for position in range(data.windows)]
    assert [labels.count(chain) for chain in range(5)] == [64, 64, 64, 64, 0]
    assert all(int(data[position][0][1:].max()) < 256 for position in range(20))  # never [CLS]


def test_negative_position_is_refused(tmp_path: Path) -> None:
    with pytest.raises(IndexError):
        next_tokens(text(tmp_path, b"abc"), length=2)[-1]


def test_short_text_says_how_much_is_needed(tmp_path: Path) -> None:
    with pytest.raises(WorkloadError, match=r"text\.txt has 8 bytes, this scale needs 9: give a"):
        next_tokens(text(tmp_path, b"a" * 8), length=8)
    with pytest.raises(WorkloadError, match="has 8 bytes, this scale needs 20"):
        sections(text(tmp_path, b"a" * 8), length=11)


@pytest.mark.parametrize("name", ["gone.txt", "."])
def test_text_that_cannot_be_read_is_one_line(tmp_path: Path, name: str) -> None:
    with pytest.raises(
        WorkloadError, match=r"^cannot read text file .*(No such file|Is a dir|denied)"
    ):
        text_file(tmp_path / name, at_least=1)
