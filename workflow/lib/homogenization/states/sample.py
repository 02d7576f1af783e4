"""A fixed sample of the tokens of a store, in the format of a store, to keep when the store itself is deleted.

The sample holds the first token of each review. The other tokens are ranked by a hash of seed, review and position: the
choice does not depend on other reviews, is the same for models with the same number of tokens, and a larger sample
contains a smaller one.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from homogenization.corpus.hashing import seeded_hash
from homogenization.models.tokens import Tokens
from homogenization.states.store import open_store
from homogenization.states.stream import Block, Contents, stream
from homogenization.states.writer import StateWriter, written_store


@dataclass(frozen=True)
class Sample:
    """The sample of states to write: file, tokens of each review, seed, and tokens in a chunk."""

    path: str | Path
    sample_tokens: int
    seed: int
    chunk_tokens: int


def sampled_positions(review_id: str, n_tokens: int, sample_tokens: int, seed: int) -> list[int]:
    """Positions of a review's tokens in the sample, ascending; all positions if it has at most `sample_tokens`.

    Args:
        review_id: name of the review.
        n_tokens: number of the review's tokens, at least 1.
        sample_tokens: largest number of tokens in the sample, at least 1.
        seed: seed of the choice.
    """
    ranked = sorted(range(1, n_tokens), key=lambda position: seeded_hash(seed, review_id, position))
    return [0, *sorted(ranked[: sample_tokens - 1])]


def sampled_rows(
    review_ids: Sequence[str], review_offsets: np.ndarray, sample_tokens: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Rows of the sampled tokens in the store, and the offsets of the reviews among them, both int64."""
    lengths = np.diff(review_offsets).tolist()
    chosen = [
        sampled_positions(name, length, sample_tokens, seed) for name, length in zip(review_ids, lengths, strict=True)
    ]
    rows = [start + np.asarray(positions) for start, positions in zip(review_offsets, chosen, strict=False)]
    return np.concatenate([np.empty(0, dtype=np.int64), *rows]), np.cumsum([0, *map(len, chosen)])


def sample_states(states: str | Path, sample: str | Path, sample_tokens: int, seed: int) -> None:
    """Write a sample of the tokens of the store at `states` as a store, whole; a few reviews are in memory.

    The numbers are those of `states`, bit for bit. The array `positions` holds each token's position in its review, and
    the attribute `sampled_tokens` the value of `sample_tokens`.

    Raises:
        HomogenizationError: `states` is gone or damaged, or the disk is full.
    """
    with open_store(states) as store:
        wanted = Sample(sample, sample_tokens, seed, store.chunk_tokens)
        with sampled(store.contents, wanted) as sampler:
            for block in stream(store):
                sampler.add(block._replace(states=torch.from_numpy(block.states)))
            sampler.write_attention(store.attention_received())


@contextmanager
def sampled(contents: Contents, sample: Sample) -> Iterator["Sampler"]:
    """Yield the consumer of all states that writes a sample of them, whole.

    Raises:
        HomogenizationError: the disk is full.
    """
    tokens = contents.tokens
    rows, offsets = sampled_rows(contents.review_ids, tokens.review_offsets, sample.sample_tokens, sample.seed)
    of_sample = Tokens(
        tokens.token_ids[rows],
        tokens.token_offsets[rows],
        offsets,
        tokens.tokens_before_truncation,
        tokens.positions[rows],
    )
    attributes = {**contents.attributes, "sampled_tokens": sample.sample_tokens}
    contents = replace(contents, tokens=of_sample, attributes=attributes)
    with written_store(sample.path, contents, sample.chunk_tokens) as writer:
        yield Sampler(writer, rows)


@dataclass(frozen=True)
class Sampler:
    """Writes the tokens `rows`, int64, ascending."""

    writer: StateWriter
    rows: np.ndarray

    def add(self, block: Block) -> None:
        """Write those of a block."""
        if found := chosen(block, self.rows):
            self.writer.add(found)

    def write_attention(self, received: np.ndarray | None) -> None:
        """Write their part of the attention received by all tokens, float32 (blocks, tokens), if it was recorded."""
        if received is not None:
            self.writer.write_attention(received[:, self.rows])


def chosen(block: Block, rows: np.ndarray) -> Block | None:
    """The tokens of a block that are among `rows`, int64, ascending, numbered among them; None without any."""
    first, last = np.searchsorted(rows, [block.start, block.start + len(block.states)]).tolist()
    if first == last:
        return None
    places = torch.from_numpy(rows[first:last] - block.start).to(block.states.device)
    return block._replace(start=first, states=block.states[places])
