"""A fixed sample of the tokens of a store, in the format of a store, to keep when the store itself is deleted.

The sample holds the first token of each review. The other tokens are ranked by a hash of seed, review and position: the
choice does not depend on other reviews, is the same for models with the same number of tokens, and a larger sample
contains a smaller one.
"""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import zarr
from zarr.storage import ZipStore

from homogenization.corpus.hashing import seeded_hash
from homogenization.names.points import ATTENTION_RECEIVED
from homogenization.run.files import written_whole
from homogenization.run.job import job_record
from homogenization.run.made_by import mark_zip
from homogenization.states.store import dimensions, open_store


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
    """Write a sample of the tokens of the store at `states` as a store, whole; one array of the sample is in memory.

    The numbers are those of `states`, bit for bit. The array `positions` holds each token's position in its review, and
    the attribute `sampled_tokens` the value of `sample_tokens`.

    Raises:
        HomogenizationError: `states` is gone or damaged, or the disk is full.
    """
    with open_store(states) as store, written_whole(sample) as partial:
        rows, review_offsets = sampled_rows(store.review_ids, store.review_offsets, sample_tokens, seed)
        attributes = {**store.attributes, "sampled_tokens": sample_tokens, "sampled_by": job_record()}
        archive = ZipStore(partial, mode="w")
        try:
            group = zarr.create_group(archive, attributes=attributes)
            for name, array in store.stored_arrays():
                if name == "review_offsets":
                    values = review_offsets
                elif name == "tokens_before_truncation":
                    values = store.read(name)
                elif name == ATTENTION_RECEIVED:  # (blocks, tokens)
                    values = store.read(name)[:, rows]
                else:
                    values = store.read(name, rows)
                _write(group, name, values, array)
        finally:
            archive.close()
        mark_zip(partial, job_record().get("key"))


def _write(group: zarr.Group, name: str, values: np.ndarray, like: zarr.Array) -> None:
    """Write an array with the attributes and compression of the array `like`."""
    target = group.create_array(
        name,
        shape=values.shape,
        # chunks of equal size: Zarr would pad a short last one
        chunks=tuple(
            math.ceil(n / math.ceil(n / size)) if n else 1 for n, size in zip(values.shape, like.chunks, strict=True)
        ),
        dimension_names=dimensions(name),
        dtype=like.dtype,
        compressors=like.compressors,
        attributes=dict(like.attrs),
        config={"write_empty_chunks": True},
    )
    target[...] = values
