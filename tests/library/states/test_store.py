"""The store of hidden states: what is written comes back, and other libraries read it."""

import os

import numpy as np
import pytest
import xarray
from zarr.storage import ZipStore

from homogenization.run.errors import HomogenizationError
from homogenization.states.store import open_store
from stored import ATTRIBUTES, LENGTHS, N_BLOCKS, tokens_of, uniform_attention, write


@pytest.fixture
def states():
    return np.random.default_rng(0).normal(size=(N_BLOCKS + 1, 21, 4)).astype(np.float32)


def test_everything_comes_back(tmp_path, states):
    random = np.random.default_rng(1)
    received, first = random.random((N_BLOCKS, 21)), random.random((3, N_BLOCKS, 4))
    optional = {"received": received, "first": first, "predicted": {"loss": np.arange(3.0)}}
    write(tmp_path / "s.zarr.zip", states, LENGTHS, final_norm=states[0] * 2, windows=(None, 5), **optional)
    with open_store(tmp_path / "s.zarr.zip") as store:
        assert (store.layers, store.n_blocks, store.width) == ([0, 1, 2], 2, 4)
        for layer in range(3):
            np.testing.assert_array_equal(store.residual_stream(layer), states[layer])
        np.testing.assert_array_equal(store.final_norm(), states[0] * 2)
        uniform = [np.concatenate([uniform_attention(n, window) for n in LENGTHS]) for window in (None, 5)]
        for of_store, expected in zip(store.attention(), (received, uniform, first), strict=True):
            np.testing.assert_array_equal(of_store, expected)
        assert store.read("loss").tolist() == [0, 1, 2]
        assert store.read("n_words").tolist() == LENGTHS
        assert store.review_ids == ["review0", "review1", "review2"]
        assert store.review_offsets.tolist() == [0, 6, 7, 21]
        assert store.positions.tolist() == [*range(6), 0, *range(14)]
        assert store.token_ids.tolist() == tokens_of(LENGTHS).token_ids.tolist()
        assert store.token_offsets.tolist() == tokens_of(LENGTHS).token_offsets.tolist()
        assert {name: store.attributes[name] for name in ATTRIBUTES} == ATTRIBUTES
        with pytest.raises(ValueError, match="layer 3 is not among"):
            store.residual_stream(3)
    assert os.listdir(tmp_path) == ["s.zarr.zip"]


@pytest.mark.parametrize("content", [None, b"PK and half a store"])
def test_what_is_no_store_is_refused(tmp_path, content):
    if content:
        (tmp_path / "s.zarr.zip").write_bytes(content)
    with pytest.raises(HomogenizationError, match="is no store of states"), open_store(tmp_path / "s.zarr.zip"):
        pass


def test_xarray_reads_a_store_by_its_dimensions(tmp_path, states):
    write(tmp_path / "s.zarr.zip", states, LENGTHS, final_norm=states[0])
    with ZipStore(tmp_path / "s.zarr.zip", mode="r") as zipped:
        opened = xarray.open_zarr(zipped, group="residual_stream", consolidated=False)
        assert opened["001"].dims == ("token", "width")
        np.testing.assert_array_equal(opened["001"], states[1])
        tokens = xarray.open_zarr(zipped, consolidated=False, drop_variables=["review_offsets"])
        assert tokens["token_offsets"].dims == ("token", "end")


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_tokens_are_read_by_slice_or_number(tmp_path, states, dtype):
    write(tmp_path / "s.zarr.zip", states, LENGTHS, final_norm=states[0] * 2, dtype=dtype)
    with open_store(tmp_path / "s.zarr.zip") as store:
        for chosen in (slice(5, 19), slice(3, 3), np.array([20, 0, 7, 7, 8]), np.array([], dtype=np.int64)):
            np.testing.assert_array_equal(store.residual_stream(1, chosen), store.residual_stream(1)[chosen])
            np.testing.assert_array_equal(store.final_norm(chosen), store.final_norm()[chosen])
