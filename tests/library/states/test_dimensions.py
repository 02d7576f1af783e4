"""Stores as other libraries open them: by the names of the dimensions of their arrays."""

import numpy as np
import xarray
from zarr.storage import ZipStore

from homogenization.states.sample import sample_states
from homogenization.states.store import open_store
from stored import LENGTHS, write

WIDTH, BLOCKS = 4, 2


def test_xarray_opens_a_store_and_a_sample_of_it(tmp_path):
    n_tokens = sum(LENGTHS)
    states = np.random.default_rng(0).normal(size=(BLOCKS + 1, n_tokens, WIDTH)).astype(np.float32)
    received = np.ones((BLOCKS, n_tokens), np.float32)
    path, sample = tmp_path / "states.zarr.zip", tmp_path / "sample.zarr.zip"
    write(path, states, LENGTHS, received=received, final_norm=states[-1])
    sample_states(path, sample, 2, seed=0)
    for file, tokens in ((path, n_tokens), (sample, 2 + 1 + 2)):
        root, stream = (
            xarray.open_zarr(ZipStore(file, mode="r"), group=group, consolidated=False)
            for group in (None, "residual_stream")
        )
        sizes = {"token": tokens, "width": WIDTH, "block": BLOCKS, "review": 3, "boundary": 4, "end": 2}
        assert dict(root.sizes) == sizes
        assert list(stream) == ["000", "001", "002"]
        assert root["attention_received"].dims == ("block", "token")
        with open_store(file) as store:
            np.testing.assert_array_equal(stream["001"].values, store.residual_stream(1))
            np.testing.assert_array_equal(root["review_offsets"].values, store.review_offsets)
