"""The store of hidden states: what is written comes back, and other libraries read it."""

import os

import numpy as np
import pytest
import torch
import xarray
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy
from zarr.storage import ZipStore

from homogenization.names.points import layer_name
from homogenization.run.errors import HomogenizationError
from homogenization.states import store as module
from homogenization.states.extraction import HeldStates
from homogenization.states.store import open_store, write_store
from stored import ATTRIBUTES, LENGTHS, N_BLOCKS, contents_of, tokens_of, write


@pytest.fixture
def states():
    return np.random.default_rng(0).normal(size=(N_BLOCKS + 1, 21, 4)).astype(np.float32)


def test_everything_comes_back(tmp_path, states):
    received = np.random.default_rng(1).random((N_BLOCKS, 21), dtype=np.float32)
    write(tmp_path / "s.zarr.zip", states, LENGTHS, received=received, final_norm=states[0] * 2, windows=(None, 5))
    with open_store(tmp_path / "s.zarr.zip") as store:
        assert (store.layers, store.n_blocks, store.width, store.causal) == ([0, 1, 2], 2, 4, True)
        assert store.attention_windows == [None, 5]
        for layer in range(3):
            np.testing.assert_array_equal(store.residual_stream(layer), states[layer])
        np.testing.assert_array_equal(store.final_norm(), states[0] * 2)
        np.testing.assert_array_equal(store.attention_received(), received)
        assert store.review_ids == ["review0", "review1", "review2"]
        assert store.review_offsets.tolist() == [0, 6, 7, 21]
        assert store.positions.tolist() == [*range(6), 0, *range(14)]
        assert store.token_ids.tolist() == tokens_of(LENGTHS).token_ids.tolist()
        assert store.token_offsets.tolist() == tokens_of(LENGTHS).token_offsets.tolist()
        assert {name: store.attributes[name] for name in ATTRIBUTES} == ATTRIBUTES
        with pytest.raises(ValueError, match="layer 3 is not among"):
            store.residual_stream(3)
    assert os.listdir(tmp_path) == ["s.zarr.zip"]


def test_optional_arrays_may_be_absent(tmp_path, states):
    write(tmp_path / "s.zarr.zip", states, LENGTHS)
    with open_store(tmp_path / "s.zarr.zip") as store:
        assert store.final_norm() is None
        assert store.attention_received() is None


def test_xarray_reads_a_store_by_its_dimensions(tmp_path, states):
    write(tmp_path / "s.zarr.zip", states, LENGTHS, final_norm=states[0])
    with ZipStore(tmp_path / "s.zarr.zip", mode="r") as zipped:
        opened = xarray.open_zarr(zipped, group="residual_stream", consolidated=False)
        assert opened["001"].dims == ("token", "width")
        np.testing.assert_array_equal(opened["001"], states[1])
        tokens = xarray.open_zarr(zipped, consolidated=False, drop_variables=["review_offsets"])
        assert tokens["token_offsets"].dims == ("token", "end")


@given(n=st.integers(1, 40), chunk_tokens=st.integers(1, 50))
def test_chunks_of_any_size(tmp_path_factory, n, chunk_tokens):
    path = tmp_path_factory.mktemp("store") / "s.zarr.zip"
    states = np.arange(2 * n * 3, dtype=np.float32).reshape(2, n, 3)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(module, "_CHUNK_TOKENS", chunk_tokens)
        write(path, states, [n])
    with open_store(path) as store:
        np.testing.assert_array_equal(np.stack([store.residual_stream(layer) for layer in range(2)]), states)


@given(st_numpy.arrays(np.uint16, (1, 21, 4)))
def test_bfloat16_comes_back_bit_for_bit(tmp_path_factory, bits):
    bits[(bits & 0x7F80) == 0x7F80] &= 0xFF7F  # neither infinite nor not a number
    path = tmp_path_factory.mktemp("store") / "s.zarr.zip"
    write_store(path, contents_of([21], 1, 4, "bfloat16"), {layer_name(0): bits[0]}, None)
    with open_store(path) as store:
        back = store.residual_stream(0)
    assert back.dtype == np.float32
    np.testing.assert_array_equal(back.view(np.uint32), bits[0].astype(np.uint32) << 16)


def test_float16_rounds_as_numpy_does(tmp_path, states):
    write(tmp_path / "s.zarr.zip", states, LENGTHS, dtype="float16")
    with open_store(tmp_path / "s.zarr.zip") as store:
        np.testing.assert_array_equal(store.residual_stream(1), states[1].astype(np.float16).astype(np.float32))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_tokens_are_read_by_slice_or_number_from_a_store_and_in_memory(tmp_path, states, dtype):
    write(tmp_path / "s.zarr.zip", states, LENGTHS, final_norm=states[0] * 2, dtype=dtype)
    held = HeldStates(contents_of(LENGTHS, 3, 4, dtype, final_norm=True))
    for review, (start, stop) in enumerate([(0, 6), (6, 7), (7, 21)]):
        for layer, of_layer in enumerate(states):
            held.put(layer_name(layer), review, torch.as_tensor(of_layer[start:stop]))
        held.put("final_norm", review, torch.as_tensor(states[0, start:stop] * 2))
    with open_store(tmp_path / "s.zarr.zip") as store:
        for chosen in (slice(5, 19), slice(3, 3), np.array([20, 0, 7, 7, 8]), np.array([], dtype=np.int64)):
            for read in (store, held):
                np.testing.assert_array_equal(read.residual_stream(1, chosen), store.residual_stream(1)[chosen])
                np.testing.assert_array_equal(read.final_norm(chosen), store.final_norm()[chosen])


@pytest.mark.parametrize(
    ("value", "dtype"), [(np.nan, "float32"), (-np.inf, "bfloat16"), (np.inf, "float16"), (-70_000.0, "float16")]
)
def test_states_that_a_store_can_not_hold_are_refused(value, dtype):
    held = HeldStates(contents_of(LENGTHS, 1, 4, dtype))
    states = torch.zeros(14, 4)
    states[3, 2] = value
    held.put(layer_name(0), 0, states[:0].new_zeros(6, 4))
    message = r"model tiny, variant front, shard 002, residual_stream/000, review review2: .*not finite"
    with pytest.raises(HomogenizationError, match=message):
        held.put(layer_name(0), 2, states)


def test_a_failure_leaves_no_file(tmp_path, states):
    with pytest.raises(KeyError):
        write_store(tmp_path / "s.zarr.zip", contents_of(LENGTHS, 3, 4), {layer_name(0): states[0]}, None)
    assert not os.listdir(tmp_path)
