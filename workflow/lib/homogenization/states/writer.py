"""Writing of a store of hidden states: a zip member can't be rewritten, so a chunk is written when it is full.

If the model runs on a device other than the CPU, separate threads check, compress and write full chunks during its
further passes. On the CPU such threads would slow the model by the time that they save.
"""

import math
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from queue import LifoQueue

import numpy as np
import torch
import zarr
from zarr.codecs import BloscCodec
from zarr.storage import ZipStore

from homogenization.models.dtypes import torch_dtype
from homogenization.names.points import ATTENTION_RECEIVED
from homogenization.run.files import written_whole
from homogenization.states.buffers import ChunkBuffer
from homogenization.states.overflow import refuse_overflow
from homogenization.states.store import BFLOAT16_BITS, TOKEN_ARRAYS, dimensions
from homogenization.states.stream import Block, Contents


class StateWriter:
    """A consumer that writes each chunk of a point when it is full."""

    def __init__(self, group: zarr.Group, contents: Contents, chunk_tokens: int, writing_threads: int) -> None:
        self._group, self._contents = group, contents
        self._n_tokens, self._width = len(contents.tokens.token_ids), contents.shape.width
        # chunks of equal size: Zarr would pad a short last one
        n_tokens = max(self._n_tokens, 1)  # a shard without reviews has arrays without chunks
        self._chunk_tokens = math.ceil(n_tokens / math.ceil(n_tokens / chunk_tokens))
        self._dtype = torch_dtype(contents.dtype)
        self._arrays = {point: self._state_array(point) for point in contents.points}
        self._filled = dict.fromkeys(contents.points, 0)
        self._filling: dict[str, ChunkBuffer] = {}
        self._threads = ThreadPoolExecutor(writing_threads, "state-writer") if writing_threads else None
        # buffers that are free, above places for those that are not made yet: one to fill for each point; with threads,
        # as many again that wait to be written
        self._free: LifoQueue[ChunkBuffer | None] = LifoQueue()
        for _ in range(len(contents.points) * (2 if writing_threads else 1)):
            self._free.put(None)
        self._being_written: list[Future[None]] = []

    def add(self, block: Block) -> None:
        """Add the states of a block; those that are there already, from a pass that was broken off, stay unchanged.

        Raises:
            HomogenizationError: states are not finite, or the storage dtype can't hold them. With writing threads, a
                later call may raise this error, and the one for a full disk.
        """
        point, filled = block.array, self._filled[block.array]
        if block.start > filled:
            raise RuntimeError(f"{point}: the states of tokens {filled} to {block.start} were left out")
        states = block.states[filled - block.start :]
        if self._threads is None and len(states):
            refuse_overflow(self._contents, point, filled, states, self._contents.largest)
        while len(states):
            offset = filled % self._chunk_tokens
            n = min(self._chunk_tokens - offset, len(states))
            if point not in self._filling:
                self._filling[point] = self._free_buffer(pinned=states.is_cuda)
            if self._threads is None:
                self._filling[point].states[offset : offset + n].copy_(states[:n])
            else:
                self._filling[point].fill(offset, states[:n])
            filled, states = filled + n, states[n:]
            self._filled[point] = filled
            if offset + n == self._chunk_tokens or filled == self._n_tokens:
                self._hand_over(point, filled - offset - n, offset + n)

    def write_attention(self, received: np.ndarray) -> None:
        """Write the attention received, float32 (blocks, tokens), of all tokens."""
        self._write_array(ATTENTION_RECEIVED, received, chunks=(1, max(self._n_tokens, 1)))

    def finish(self) -> None:
        """Wait until all chunks are written, and write the tokens.

        Raises:
            RuntimeError: a point lacks the states of some tokens, because of a fault in the calling code.
            HomogenizationError: a writing thread met states that can't be stored.
        """
        short = [point for point, filled in self._filled.items() if filled != self._n_tokens]
        if short:
            raise RuntimeError(f"states of {', '.join(short)} are incomplete")
        for chunk in self._being_written:
            chunk.result()
        for name in TOKEN_ARRAYS:
            self._write_array(name, getattr(self._contents.tokens, name))

    def stop(self) -> None:
        """End the writing threads, and drop the chunks that they have not begun."""
        if self._threads is not None:
            self._threads.shutdown(cancel_futures=True)

    def _free_buffer(self, pinned: bool) -> ChunkBuffer:
        """Wait for a free buffer; raises the errors of the writing threads so far."""
        buffer = self._free.get() or ChunkBuffer(self._chunk_tokens, self._width, self._dtype, pinned)
        for chunk in [*filter(Future.done, self._being_written)]:
            self._being_written.remove(chunk)
            chunk.result()
        return buffer

    def _hand_over(self, point: str, start: int, n: int) -> None:
        """Write the first `n` tokens of the point's buffer as the chunk from token `start` on, in a thread if any."""
        buffer = self._filling.pop(point)
        if self._threads is not None:
            chunk = self._threads.submit(self._check_and_write, point, start, n, buffer)
            self._being_written.append(chunk)
            # after the chunk is done: the next call for the buffer raises its error
            chunk.add_done_callback(lambda _: self._free.put(buffer))
            return
        self._write_chunk(point, start, buffer.states[:n])
        self._free.put(buffer)

    def _check_and_write(self, point: str, start: int, n: int, buffer: ChunkBuffer) -> None:
        """In a thread: wait for the states, check them and write them."""
        buffer.wait()
        refuse_overflow(self._contents, point, start, buffer.extremes[:n], self._contents.largest)
        self._write_chunk(point, start, buffer.states[:n])

    def _state_array(self, point: str) -> zarr.Array:
        as_bfloat16 = self._dtype == torch.bfloat16
        return self._group.create_array(
            point,
            shape=(self._n_tokens, self._width),
            chunks=(self._chunk_tokens, self._width),
            dimension_names=dimensions(point),
            dtype="uint16" if as_bfloat16 else str(self._dtype).removeprefix("torch."),
            # float32 and float16 don't compress; bfloat16 shrinks by a quarter and is read faster
            compressors=BloscCodec(cname="lz4", shuffle="bitshuffle") if as_bfloat16 else None,
            attributes={"stored_as": BFLOAT16_BITS} if as_bfloat16 else {},
            config={"write_empty_chunks": True},
        )

    def _write_array(self, name: str, values: np.ndarray, chunks: tuple[int, ...] | None = None) -> None:
        array = self._group.create_array(
            name,
            shape=values.shape,
            chunks=chunks or tuple(max(length, 1) for length in values.shape),
            dimension_names=dimensions(name),
            dtype=values.dtype,
            compressors=None,
            config={"write_empty_chunks": True},
        )
        array[...] = values

    def _write_chunk(self, point: str, start: int, states: torch.Tensor) -> None:
        bits = states.view(torch.uint16) if states.dtype == torch.bfloat16 else states
        self._arrays[point][start : start + len(states)] = bits.numpy()


@contextmanager
def written_store(
    path: str | Path, contents: Contents, chunk_tokens: int, writing_threads: int = 0
) -> Iterator[StateWriter]:
    """Yield the writer of a store; the file gets its name when it is complete, and is removed on any failure.

    Args:
        path: file of the store, `*.zarr.zip`.
        contents: contents of the store.
        chunk_tokens: largest number of tokens in a chunk.
        writing_threads: number of separate threads that write, for a model on a device other than the CPU; 0 for none.

    Raises:
        HomogenizationError: the disk is full, or `StateWriter.add` refuses states.
    """
    with written_whole(path) as partial:
        store = ZipStore(partial, mode="w")
        try:
            group = zarr.create_group(store, attributes=contents.root_attributes())
            writer = StateWriter(group, contents, chunk_tokens, writing_threads)
            try:
                yield writer
                writer.finish()
            finally:
                writer.stop()
        finally:
            store.close()
