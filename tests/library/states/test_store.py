"""The store of hidden states: what is written comes back, and what cannot be stored is named."""

import os
import zipfile

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy

from homogenization.names.points import RESIDUAL_STREAM
from homogenization.run.errors import HomogenizationError
from homogenization.states.store import open_store
from homogenization.states.stream import Block, StoreShape
from homogenization.states.writer import written_store
from stored import ATTRIBUTES, LENGTHS, N_BLOCKS, contents_of, tokens_of, write


@pytest.fixture
def states():
    return np.random.default_rng(0).normal(size=(N_BLOCKS + 1, 21, 4)).astype(np.float32)


@pytest.mark.parametrize("writing_threads", [0, 1, 3])
def test_everything_comes_back(tmp_path, states, writing_threads):
    received = np.random.default_rng(1).random((N_BLOCKS, 21), dtype=np.float32)
    write(
        tmp_path / "s.zarr.zip",
        states,
        LENGTHS,
        received=received,
        final_norm=states[0] * 2,
        writing_threads=writing_threads,
    )
    with open_store(tmp_path / "s.zarr.zip") as store:
        assert (store.layers, store.n_blocks, store.width, store.causal) == ([0, 1, 2], 2, 4, True)
        for layer in range(3):
            np.testing.assert_array_equal(store.residual_stream(layer), states[layer])
        np.testing.assert_array_equal(store.final_norm(), states[0] * 2)
        np.testing.assert_array_equal(store.attention_received(), received)
        assert store.review_ids == ["review0", "review1", "review2"]
        assert store.review_offsets.tolist() == [0, 6, 7, 21]
        assert store.positions.tolist() == [*range(6), 0, *range(14)]
        assert store.token_ids.tolist() == tokens_of(LENGTHS).token_ids.tolist()
        assert store.token_offsets.tolist() == tokens_of(LENGTHS).token_offsets.tolist()
        assert store.tokens_before_truncation.tolist() == [7, 2, 15]
        assert {name: store.attributes[name] for name in ATTRIBUTES} == ATTRIBUTES
    assert os.listdir(tmp_path) == ["s.zarr.zip"]


def test_optional_arrays_may_be_absent(tmp_path, states):
    write(tmp_path / "s.zarr.zip", states, LENGTHS)
    with open_store(tmp_path / "s.zarr.zip") as store:
        assert store.final_norm() is None
        assert store.attention_received() is None


@given(
    data=st.data(),
    n=st.integers(1, 40),
    chunk_tokens=st.integers(1, 50),
    piece=st.integers(1, 45),
    n_threads=st.integers(0, 3),
)
def test_chunks_of_any_size_from_pieces_of_any_size(tmp_path_factory, data, n, chunk_tokens, piece, n_threads):
    path = tmp_path_factory.mktemp("store") / "s.zarr.zip"
    states = np.arange(2 * n * 3, dtype=np.float32).reshape(2, n, 3)
    pieces = (piece, data.draw(st.integers(1, 45)))
    write(path, states, [n], chunk_tokens=chunk_tokens, pieces=pieces, writing_threads=n_threads)
    with open_store(path) as store:
        np.testing.assert_array_equal(np.stack([store.residual_stream(layer) for layer in range(2)]), states)
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    assert len(names) == len(set(names))  # nothing is written twice
    chunks = [name for name in names if name.startswith("residual_stream/000/c/")]
    assert len(chunks) == -(-n // chunk_tokens)


def test_chunks_of_zeros_are_written_too(tmp_path):
    write(tmp_path / "s.zarr.zip", np.zeros((1, 21, 4), dtype=np.float32), LENGTHS)
    with open_store(tmp_path / "s.zarr.zip") as store:
        assert not store.residual_stream(0).any()


@given(st_numpy.arrays(np.uint16, (1, 21, 4)))
def test_bfloat16_comes_back_bit_for_bit(tmp_path_factory, bits):
    bits[(bits & 0x7F80) == 0x7F80] &= 0xFF7F  # neither infinite nor not a number
    path = tmp_path_factory.mktemp("store") / "s.zarr.zip"
    states = torch.from_numpy(bits).view(torch.bfloat16)
    shape = StoreShape(0, 4, False, (), False, False, (0,))
    with written_store(path, contents_of(shape, "bfloat16"), 8) as writer:
        writer.add(Block(RESIDUAL_STREAM, 0, 0, states[0]))
    with open_store(path) as store:
        back = store.residual_stream(0)
    assert back.dtype == np.float32
    np.testing.assert_array_equal(back.view(np.uint32) >> 16, bits[0])
    np.testing.assert_array_equal(back.view(np.uint32), states[0].float().numpy().view(np.uint32))


def test_float16_rounds_as_numpy_does(tmp_path, states):
    write(tmp_path / "s.zarr.zip", states, LENGTHS, dtype="float16")
    with open_store(tmp_path / "s.zarr.zip") as store:
        np.testing.assert_array_equal(store.residual_stream(1), states[1].astype(np.float16).astype(np.float32))


@pytest.mark.parametrize("writing_threads", [0, 1])
@pytest.mark.parametrize("value", [70_000.0, -65_505.0])
def test_states_beyond_float16_are_refused(tmp_path, states, value, writing_threads):
    states[1, 8, 2] = value
    message = (
        r"model tiny, variant front, shard 002, residual_stream/001, review review2: .*65,504.*bfloat16 or float32"
    )
    with pytest.raises(HomogenizationError, match=message):
        write(tmp_path / "s.zarr.zip", states, LENGTHS, dtype="float16", writing_threads=writing_threads)
    assert not os.listdir(tmp_path)
    write(tmp_path / "s.zarr.zip", states, LENGTHS, dtype="bfloat16", writing_threads=writing_threads)


@pytest.mark.parametrize("writing_threads", [0, 1])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_states_that_are_not_finite_are_refused(tmp_path, states, value, dtype, writing_threads):
    states[2, 6, 0] = value
    with pytest.raises(HomogenizationError, match=r"shard 002, residual_stream/002, review review1: .*not finite"):
        write(tmp_path / "s.zarr.zip", states, LENGTHS, dtype=dtype, writing_threads=writing_threads)
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("value", [np.nan, -np.inf])
def test_a_store_with_states_that_are_not_finite_is_moved_aside(tmp_path, states, value, dtype, monkeypatch):
    monkeypatch.setattr("homogenization.states.writer.refuse_overflow", lambda *arguments: None)
    states[2, 6, 0] = value
    write(tmp_path / "s.zarr.zip", states, LENGTHS, dtype=dtype)
    with open_store(tmp_path / "s.zarr.zip") as store:
        store.residual_stream(2, slice(7, 21))
        with pytest.raises(HomogenizationError, match="residual_stream/002 has numbers that are not finite"):
            store.residual_stream(2)
    assert "s.zarr.zip" not in os.listdir(tmp_path)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_tokens_are_read_by_slice_or_number(tmp_path, states, dtype):
    write(tmp_path / "s.zarr.zip", states, LENGTHS, final_norm=states[0] * 2, dtype=dtype)
    with open_store(tmp_path / "s.zarr.zip") as store:
        for chosen in (slice(5, 19), slice(3, 3), np.array([20, 0, 7, 7, 8]), np.array([], dtype=np.int64)):
            np.testing.assert_array_equal(store.residual_stream(1, chosen), store.residual_stream(1)[chosen])
            np.testing.assert_array_equal(store.final_norm(chosen), store.final_norm()[chosen])


@given(pieces=st.lists(st.integers(1, 9), min_size=1, max_size=6), back=st.integers(0, 12), n_threads=st.integers(0, 2))
def test_passes_that_are_begun_anew_change_nothing(tmp_path_factory, pieces, back, n_threads):
    path = tmp_path_factory.mktemp("store") / "s.zarr.zip"
    states = torch.arange(2 * 21 * 3, dtype=torch.float32).reshape(2, 21, 3)
    shape = StoreShape(1, 3, True, (None,), False, False, (0, 1))
    with written_store(path, contents_of(shape), 4, n_threads) as writer:
        start = 0
        for piece in [*pieces, 21]:
            start = max(0, start - back)
            for layer in (0, 1):
                writer.add(Block(RESIDUAL_STREAM, layer, start, states[layer, start : start + piece]))
            start = min(start + piece, 21)
        for layer in (0, 1):
            writer.add(Block(RESIDUAL_STREAM, layer, 0, states[layer]))
    with open_store(path) as store:
        np.testing.assert_array_equal(np.stack([store.residual_stream(layer) for layer in (0, 1)]), states)


def test_tokens_that_are_left_out_are_a_fault(tmp_path, states):
    shape = StoreShape(0, 4, True, (), False, False, (0,))
    with (
        pytest.raises(RuntimeError, match="tokens 0 to 3 were left out"),
        written_store(tmp_path / "s.zarr.zip", contents_of(shape), 8) as writer,
    ):
        writer.add(Block(RESIDUAL_STREAM, 0, 3, torch.as_tensor(states[0, 3:])))


def test_states_of_some_tokens_alone_make_no_store(tmp_path, states):
    with pytest.raises(RuntimeError, match="incomplete"):
        write(tmp_path / "s.zarr.zip", states[:, :20], [*LENGTHS[:2], 15])
    assert not os.listdir(tmp_path)


def test_a_store_of_another_schema_is_named(tmp_path, states, monkeypatch):
    monkeypatch.setattr("homogenization.states.stream.SCHEMA_VERSION", 99)
    write(tmp_path / "s.zarr.zip", states, LENGTHS)
    with pytest.raises(HomogenizationError, match="schema version 99"), open_store(tmp_path / "s.zarr.zip"):
        pass
