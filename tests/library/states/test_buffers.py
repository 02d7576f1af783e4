"""States on their way to the file while the model goes on: a bounded number of chunks, in order, and faults told."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import torch

from conftest import ROOT
from homogenization.models.tokens import Tokens
from homogenization.names.points import RESIDUAL_STREAM
from homogenization.states.buffers import ChunkBuffer, token_extremes
from homogenization.states.store import open_store
from homogenization.states.stream import Block, Contents, StoreShape
from homogenization.states.writer import StateWriter, written_store

CHUNK = 4
N_TOKENS = 10 * CHUNK
STATES = torch.arange(2 * N_TOKENS * 3, dtype=torch.float32).reshape(2, N_TOKENS, 3)


def store_of_two_layers(path, writing_threads):
    spans = np.stack([np.arange(N_TOKENS), np.arange(N_TOKENS) + 1], axis=1).astype(np.int32)
    tokens = Tokens(np.zeros(N_TOKENS, dtype=np.int64), spans, np.array([0, N_TOKENS]), np.array([N_TOKENS]))
    shape = StoreShape(1, 3, True, (None,), False, False, (0, 1))
    return written_store(path, Contents(shape, ["r"], tokens, {}, "float32"), CHUNK, writing_threads)


def append_all(writer, appended=None):
    for start in range(0, N_TOKENS, CHUNK):
        for layer in (0, 1):
            writer.add(Block(RESIDUAL_STREAM, layer, start, STATES[layer, start : start + CHUNK]))
            if appended is not None:
                appended.append(start)


@pytest.fixture
def slow_disk(monkeypatch):
    """A gate before the file; closed at first."""
    gate, write = threading.Event(), StateWriter._write_chunk

    def wait_and_write(writer, *arguments):
        gate.wait()
        write(writer, *arguments)

    monkeypatch.setattr(StateWriter, "_write_chunk", wait_and_write)
    yield gate
    gate.set()


def settled(appended):
    """The number of `appended` once it no longer grows."""
    while True:
        before = len(appended)
        time.sleep(0.2)
        if len(appended) == before:
            return before


def test_states_wait_for_a_slow_disk(tmp_path, slow_disk):
    appended = []
    with store_of_two_layers(tmp_path / "s.zarr.zip", 2) as writer:
        model = threading.Thread(target=append_all, args=(writer, appended))
        model.start()
        # two chunks for each of two layers, and not one more
        assert settled(appended) == 4
        slow_disk.set()
        model.join()
    assert len(appended) == 20
    with open_store(tmp_path / "s.zarr.zip") as store:
        np.testing.assert_array_equal(np.stack([store.residual_stream(layer) for layer in (0, 1)]), STATES)


def test_states_may_change_once_they_are_handed_over(tmp_path, slow_disk):
    with store_of_two_layers(tmp_path / "s.zarr.zip", 1) as writer:
        states = STATES[:, :CHUNK].clone()
        for layer in (0, 1):
            writer.add(Block(RESIDUAL_STREAM, layer, 0, states[layer]))
        states.fill_(np.nan)
        slow_disk.set()
        append_all(writer)
    with open_store(tmp_path / "s.zarr.zip") as store:
        np.testing.assert_array_equal(store.residual_stream(0), STATES[0])


@pytest.mark.parametrize(("n_threads", "fails_at"), [(1, 0), (3, 0), (1, N_TOKENS - CHUNK)])
def test_what_goes_wrong_in_a_thread_is_raised_where_states_are_handed_over(tmp_path, monkeypatch, n_threads, fails_at):
    write = StateWriter._write_chunk

    def fail(writer, point, start, states):
        if start >= fails_at:
            raise OSError(5, "Input/output error")
        write(writer, point, start, states)

    monkeypatch.setattr(StateWriter, "_write_chunk", fail)
    appended = []
    with pytest.raises(OSError, match="Input/output error"), store_of_two_layers(tmp_path / "s", n_threads) as writer:
        append_all(writer, appended)
    assert len(appended) <= (20 if fails_at else 4), "raised in the next call that needs a buffer"
    assert not list(tmp_path.iterdir())
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("state-writer")]


KILLED = """
import sys, time
sys.path[:0] = [{library!r}, {tests!r}, {units!r}]
from test_buffers import append_all, store_of_two_layers
from homogenization.states.writer import StateWriter
with store_of_two_layers({path!r}, 2) as writer:
    append_all(writer)
    print("appended", flush=True)
    time.sleep(60)
"""


def test_a_kill_leaves_no_store_and_the_next_run_makes_it(tmp_path):
    path = tmp_path / "s.zarr.zip"
    folders = {"library": ROOT / "workflow/lib", "tests": ROOT / "tests", "units": ROOT / "tests/library/states"}
    code = KILLED.format(path=str(path), **{name: str(folder) for name, folder in folders.items()})
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "appended\n"
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert not path.exists()
    assert len(list(tmp_path.iterdir())) == 1, "what it had written"
    with store_of_two_layers(path, 2) as writer:
        append_all(writer)
    assert [left.name for left in tmp_path.iterdir()] == ["s.zarr.zip"]
    with open_store(path) as store:
        np.testing.assert_array_equal(store.residual_stream(1), STATES[1])


def test_buffers_made_within_a_pass_are_filled_outside_of_one():
    with torch.inference_mode():
        buffer = ChunkBuffer(4, 3, torch.bfloat16, pinned=False)
        buffer.fill(0, STATES[0, :2])
    buffer.fill(2, STATES[1, :2])
    buffer.wait()
    np.testing.assert_array_equal(buffer.states.float(), torch.cat([STATES[0, :2], STATES[1, :2]]))


def test_extremes_of_each_token_are_those_before_the_conversion():
    states = torch.tensor([[1.0, -70_000.0], [torch.nan, 3.0], [torch.inf, 0.5]])
    buffer = ChunkBuffer(3, 2, torch.float16, pinned=False)
    buffer.fill(0, states)
    expected = np.array([[-70_000, 1], [np.nan, np.nan], [0.5, np.inf]], dtype=np.float32)
    np.testing.assert_array_equal(buffer.extremes, expected)
    assert token_extremes(states.bfloat16()).dtype == torch.float32
