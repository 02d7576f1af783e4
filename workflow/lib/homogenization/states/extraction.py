"""Extraction: a model reads reviews, and a store takes the residual stream of each layer and the attention received."""

from pathlib import Path
from typing import Any

import torch

from homogenization.states.reading import Reading
from homogenization.states.writer import written_store


def extract(reading: Reading, path: str | Path, chunk_tokens: int) -> dict[str, Any]:
    """Let a model read, and write the store of its states at `path`, whole.

    Args:
        reading: the model and what it reads.
        path: file of the store, `*.zarr.zip`.
        chunk_tokens: largest number of tokens in a chunk of the store.

    Returns:
        The run record (`Reading.record`).

    Raises:
        HomogenizationError: states can't be stored, or the disk or the device is full.
    """
    writing_threads = 0 if reading.model.packed.device.type == "cpu" else torch.get_num_threads()
    with written_store(path, reading.contents, chunk_tokens, writing_threads) as writer:
        reading.stream([writer])
        if reading.received is not None:
            writer.write_attention(reading.received)
    return reading.record()
