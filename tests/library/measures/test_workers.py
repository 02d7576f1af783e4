"""Processes that measure beside a model: arrays that they get, and what is said when one of them is ended."""

import os
import signal

import numpy as np
import pytest
import torch

from homogenization.measures import workers
from homogenization.measures.workers import Workers, workers_beside
from homogenization.run.errors import HomogenizationError


@pytest.mark.parametrize("n_bytes", [2**16, 100], ids=["shared", "through a pipe"])
def test_arrays_reach_workers_as_they_are(monkeypatch, n_bytes):
    """More calls than blocks of shared memory, of which each is used again, and arrays that a block can't hold."""
    monkeypatch.setattr(workers, "_BLOCK_BYTES", n_bytes)
    one = Workers(1)
    arrays = [np.arange(k, k + 300.0).reshape(3, 100)[:, ::step] for k in range(5) for step in (1, 3)]
    try:
        for array, (same, total) in zip(arrays, one.each(_weighed, arrays), strict=True):
            np.testing.assert_array_equal(same, array)
            assert total == array.sum()
    finally:
        one.close()


def _weighed(array):
    return array, array.sum()


def test_no_more_calls_are_under_way_than_wait_for_a_worker():
    drawn, two = [], Workers(2)
    try:
        found = []
        for value in two.each(abs, (drawn.append(k) or k for k in range(8))):
            found.append(value)
            assert len(drawn) - len(found) <= 2
        assert found == list(range(8))
    finally:
        two.close()


def test_a_process_that_is_ended_from_outside_ends_the_job_with_the_cure(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    said = r"^one of the 2 processes .* main memory\. .*mem_mb"
    with pytest.raises(HomogenizationError, match=said), workers_beside("cuda", 3) as beside:
        list(beside.each(_ended, range(4)))


def _ended(argument):
    if argument == 2:
        os.kill(os.getpid(), signal.SIGKILL)
