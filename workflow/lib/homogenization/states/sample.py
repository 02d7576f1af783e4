"""A fixed sample of the tokens of a store, in the format of a store: what can stay where the whole can't.

A review's first token is always taken. The others are ranked by a hash of seed, review and position: the choice does
not depend on other reviews, models with as many tokens have the same one, and a larger sample contains a smaller one.
"""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import zarr
from zarr.storage import ZipStore

from homogenization.corpus.hashing import seeded_hash
from homogenization.run.files import written_whole
from homogenization.run.job import job_record
from homogenization.states.points import ATTENTION_RECEIVED
from homogenization.states.store import open_store

_TOKEN_AXIS = {ATTENTION_RECEIVED: 1}  # of an array in the store; 0 in all others


def sampled_positions(review_id: str, n_tokens: int, sample_tokens: int, seed: int) -> list[int]:
    """Positions of the tokens that are kept of a review, ascending: all of them where it has no more.

    Args:
        review_id: of the review.
        n_tokens: its number of tokens, at least 1.
        sample_tokens: tokens to keep, at least 1.
        seed: of the choice.
    """
    ranked = sorted(range(1, n_tokens), key=lambda position: seeded_hash(seed, review_id, position))
    return [0, *sorted(ranked[: sample_tokens - 1])]


def sampled_rows(
    review_ids: Sequence[str], review_offsets: np.ndarray, sample_tokens: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Rows of the tokens that are kept of all reviews, and where each review begins among them, both int64."""
    lengths = np.diff(review_offsets).tolist()
    chosen = [
        sampled_positions(name, length, sample_tokens, seed) for name, length in zip(review_ids, lengths, strict=True)
    ]
    rows = [start + np.asarray(positions) for start, positions in zip(review_offsets, chosen, strict=False)]
    return np.concatenate(rows), np.cumsum([0, *map(len, chosen)])


def sample_states(states: str | Path, sample: str | Path, sample_tokens: int, seed: int) -> None:
    """Write the store of a sample of the tokens of the store at `states`, whole; one array in memory at a time.

    The numbers are those of `states`, bit for bit. `positions` tells where a token stood in its review, and the
    attribute `sampled_tokens` how many were to be taken.

    Raises:
        HomogenizationError: `states` is damaged, or the disk is full.
    """
    with open_store(states) as store, written_whole(sample) as partial:
        rows, review_offsets = sampled_rows(store.review_ids, store.review_offsets, sample_tokens, seed)
        attributes = {**store.attributes, "sampled_tokens": sample_tokens, "sampled_by": job_record()}
        archive = ZipStore(partial, mode="w")
        try:
            group = zarr.create_group(archive, attributes=attributes)
            for name, array in store.stored_arrays():
                values = store.read(name)
                if name == "review_offsets":
                    values = review_offsets
                elif name != "tokens_before_truncation":
                    values = values.take(rows, axis=_TOKEN_AXIS.get(name, 0))
                _write(group, name, values, array)
        finally:
            archive.close()


def _write(group: zarr.Group, name: str, values: np.ndarray, like: zarr.Array) -> None:
    """Write an array with the attributes and compression of the array `like`."""
    target = group.create_array(
        name,
        shape=values.shape,
        # chunks of one size: Zarr would fill up a short last one
        chunks=tuple(math.ceil(n / math.ceil(n / size)) for n, size in zip(values.shape, like.chunks, strict=True)),
        dtype=like.dtype,
        compressors=like.compressors,
        attributes=dict(like.attrs),
        config={"write_empty_chunks": True},
    )
    target[...] = values
