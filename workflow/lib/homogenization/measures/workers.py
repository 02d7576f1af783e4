"""Processes that measure reviews beside a model that reads on another device."""

import ctypes
import mmap
import os
import pickle
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context
from threading import BoundedSemaphore
from typing import Any

import torch
from threadpoolctl import threadpool_limits

from homogenization.measures.reviews import Inline
from homogenization.run.errors import HomogenizationError

_PR_SET_PDEATHSIG = 1  # prctl(2)
_WAITING = 2  # parts of a pass that wait for each worker: their Gram matrices are in memory
_BLOCK_BYTES = 2**28  # of the memory in which a part is handed on: a matrix of width 5,792; pipes take larger ones
_ALIGNED = 64  # bytes


class Workers:
    """Processes that measure reviews beside a model on another device than the CPU.

    LAPACK's functions hold Python's lock, so that threads would wait for each other. The processes are forked, so they
    are made before the model is loaded. Arrays are handed on in memory that they share: a pipe takes three times as
    long.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        # pages that nobody has written take no memory
        self._blocks = [mmap.mmap(-1, _BLOCK_BYTES) for _ in range(number * _WAITING)]
        self._free = list(range(len(self._blocks)))
        self._places = BoundedSemaphore(len(self._blocks))
        self._pool = ProcessPoolExecutor(number, get_context("fork"), _begin, (self._blocks,))
        self._pool.submit(os.getpid).result()

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future:
        """The future result of a function; it waits while too many are under way.

        In the process, arrays among the arguments lie in memory that is used again after the function has ended.
        """
        self._places.acquire()
        block = self._free.pop()  # the one that was used last: few blocks ever take memory
        try:
            future = self._pool.submit(_called, function, block, *_packed(arguments, self._blocks[block]))
        except BaseException:
            self._release(block)
            raise
        future.add_done_callback(lambda _: self._release(block))
        return future

    def _release(self, block: int) -> None:
        self._free.append(block)
        self._places.release()

    def each(self, function: Callable[[Any], Any], arguments: Iterable[Any]) -> Iterator[Any]:
        """The results of a function of each of the arguments, in their order; one waits for a worker."""
        waiting: deque[Future] = deque()
        for argument in arguments:
            waiting.append(self.submit(function, argument))
            if len(waiting) > self.number:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    def close(self) -> None:
        """End the processes."""
        self._pool.shutdown(cancel_futures=True)


_blocks_here: Sequence[mmap.mmap] = ()  # in a worker


def _begin(blocks: Sequence[mmap.mmap]) -> None:
    """Prepare a worker."""
    global _blocks_here
    _blocks_here = blocks
    os.environ["OMP_NUM_THREADS"] = "1"  # for libraries that are loaded later
    threadpool_limits(1)
    torch.set_num_threads(1)
    if sys.platform == "linux":  # a worker does not outlive a job that is killed
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _packed(arguments: Any, block: mmap.mmap) -> tuple[bytes, list[slice] | None]:
    """Arguments as bytes, and the places in `block` that hold their arrays; None where the bytes hold them too."""
    buffers: list[pickle.PickleBuffer] = []
    packed = pickle.dumps(arguments, protocol=5, buffer_callback=buffers.append)
    places, end = [], 0
    for part in (buffer.raw() for buffer in buffers):
        places.append(slice(end, end + part.nbytes))
        end += -(-part.nbytes // _ALIGNED) * _ALIGNED
    if end > len(block):
        return pickle.dumps(arguments, protocol=5), None
    for place, buffer in zip(places, buffers, strict=True):
        block[place] = buffer.raw()
    return packed, places


def _called(function: Callable[..., Any], block: int, packed: bytes, places: list[slice] | None) -> Any:
    """The result of a function of arguments that were packed; in a worker."""
    here = memoryview(_blocks_here[block])
    return function(*pickle.loads(packed, buffers=None if places is None else [here[place] for place in places]))


@contextmanager
def workers_beside(device: str, threads: int) -> Iterator[Workers | Inline]:
    """Workers for a model on `device` (as configured): a thread fewer than the job has on CUDA, and none elsewhere.

    On the CPU, the thread that runs the model measures: the numbers are then those over a store.

    Raises:
        HomogenizationError: the system ended one of them.
    """
    on_gpu = device in ("auto", "cuda") and torch.cuda.is_available()
    workers = Workers(threads - 1) if on_gpu and threads > 1 else Inline()
    try:
        yield workers
    except BrokenProcessPool as error:
        raise HomogenizationError(
            f"one of the {workers.number} processes that measure states beside the model was ended from outside, most "
            "likely because the machine or the job ran out of main memory. Give the job more memory (mem_mb of the "
            "rule measure_states), or fewer threads."
        ) from error
    finally:
        workers.close()
