"""The sample of a store: the same tokens in every array, the numbers bit for bit, the choice fixed."""

import os
import zipfile

import numpy as np
import pytest
import torch
import xarray
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st
from zarr.storage import ZipStore

from flipped import flip_bit
from homogenization.models.tokens import Tokens
from homogenization.names.points import FINAL_NORM, RESIDUAL_STREAM, layer_name
from homogenization.run.errors import HomogenizationError
from homogenization.states.sample import sample_states, sampled_positions, sampled_rows
from homogenization.states.store import open_store
from homogenization.states.stream import Block, Contents, StoreShape
from homogenization.states.writer import written_store

LENGTHS = [30, 1, 4, 17]
LAYERS = (0, 2, 3)
WIDTH = 5
review_ids = st.text(alphabet="0123456789abcdef", min_size=1, max_size=12)
seeds = st.integers(0, 2**32)


def write_full(path, dtype="float32", lengths=LENGTHS, optional=True, seed=0):
    """A store of random states, chunks of 8 tokens, some layers left out."""
    n, rng = sum(lengths), np.random.default_rng(seed)
    spans = np.stack([np.arange(n), np.arange(n) + 3], axis=1).astype(np.int32)
    offsets = np.cumsum([0, *lengths]).astype(np.int64)
    tokens = Tokens(rng.integers(0, 99, n), spans, offsets, np.array(lengths) + 2)
    shape = StoreShape(3, WIDTH, True, (None, 8, None), optional, optional, LAYERS)
    names = [f"review{index}" for index in range(len(lengths))]
    attributes = {"model": "tiny", "variant": "front", "shard": "002", "revision": None}
    with written_store(path, Contents(shape, names, tokens, attributes, dtype), 8) as writer:
        for point in [*((RESIDUAL_STREAM, layer) for layer in LAYERS), *([(FINAL_NORM, 3)] if optional else [])]:
            writer.add(Block(*point, 0, torch.from_numpy(rng.normal(size=(n, WIDTH)).astype(np.float32))))
        if optional:
            writer.write_attention(rng.random((3, n), dtype=np.float32))
    return path


def arrays_of(path):
    """Everything in a store as it is stored: name -> array."""
    archive = ZipStore(path, mode="r")
    group = zarr.open_group(archive, mode="r")
    found = {name: member for name, member in group.members(max_depth=None) if isinstance(member, zarr.Array)}
    result = {name: (member[...], dict(member.attrs), member.compressors) for name, member in found.items()}
    archive.close()
    return result


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_every_array_has_the_same_tokens_bit_for_bit(tmp_path, dtype):
    full = write_full(tmp_path / "full.zarr.zip", dtype)
    sample_states(full, tmp_path / "sample.zarr.zip", 4, seed=7)
    with open_store(full) as store:
        rows, offsets = sampled_rows(store.review_ids, store.review_offsets, 4, seed=7)
    assert offsets.tolist() == [0, 4, 5, 9, 13]
    whole, sampled = arrays_of(full), arrays_of(tmp_path / "sample.zarr.zip")
    assert whole.keys() == sampled.keys()
    expected = {name: values for name, (values, *_) in whole.items()}
    expected["attention_received"] = expected["attention_received"][:, rows]
    for name in ("token_ids", "positions", "token_offsets", FINAL_NORM, *map(layer_name, LAYERS)):
        expected[name] = expected[name][rows]
    expected["review_offsets"] = offsets
    for name, (values, attributes, compressors) in sampled.items():
        assert (values.dtype, values.shape) == (expected[name].dtype, expected[name].shape)
        assert values.tobytes() == expected[name].tobytes()
        assert (attributes, compressors) == whole[name][1:]


@pytest.mark.parametrize("optional", [True, False])
def test_a_sample_is_read_as_a_store(tmp_path, optional):
    full = write_full(tmp_path / "full.zarr.zip", "bfloat16", optional=optional)
    sample_states(full, tmp_path / "sample.zarr.zip", 4, seed=7)
    with open_store(full) as store, open_store(tmp_path / "sample.zarr.zip") as sample:
        rows, _ = sampled_rows(store.review_ids, store.review_offsets, 4, seed=7)
        assert (sample.layers, sample.n_blocks) == (store.layers, store.n_blocks)
        for layer in store.layers:
            np.testing.assert_array_equal(sample.residual_stream(layer), store.residual_stream(layer)[rows])
        assert (sample.final_norm() is None) == (store.final_norm() is None)
        if store.final_norm() is not None:
            np.testing.assert_array_equal(sample.final_norm(), store.final_norm()[rows])
        assert (sample.attention_received() is None) == (not optional)
        assert sample.review_ids == store.review_ids
        assert sample.tokens_before_truncation.tolist() == store.tokens_before_truncation.tolist()
        assert sample.attributes == store.attributes | {"sampled_tokens": 4}


def test_no_chunk_is_padded_and_none_is_large(tmp_path):
    full = write_full(tmp_path / "full.zarr.zip", lengths=[9, 20, 13])
    sample_states(full, tmp_path / "sample.zarr.zip", 3, seed=0)
    with zipfile.ZipFile(tmp_path / "sample.zarr.zip") as archive:
        sizes = [entry.file_size for entry in archive.infolist() if entry.filename.startswith("residual_stream/000/c/")]
    # 9 tokens in chunks of 8 at most, as those of the store: two of 5 rather than two of 8
    assert [size // (4 * WIDTH) for size in sizes] == [5, 5]
    assert sorted(os.listdir(tmp_path)) == ["full.zarr.zip", "sample.zarr.zip"], "and nothing else is left"


@given(review_id=review_ids, n=st.integers(1, 80), k=st.integers(1, 90), seed=seeds)
def test_the_first_token_and_no_more_than_asked_for(review_id, n, k, seed):
    positions = sampled_positions(review_id, n, k, seed)
    assert positions[0] == 0
    assert positions == sorted(set(positions))
    assert len(positions) == min(n, k)
    assert positions[-1] < n


@given(review_id=review_ids, n=st.integers(1, 80), k=st.integers(1, 90), more=st.integers(0, 20), seed=seeds)
def test_a_larger_sample_contains_a_smaller_one(review_id, n, k, more, seed):
    assert set(sampled_positions(review_id, n, k, seed)) <= set(sampled_positions(review_id, n, k + more, seed))


@settings(max_examples=30)
@given(lengths=st.lists(st.integers(1, 40), min_size=1, max_size=6), k=st.integers(1, 12), seed=seeds)
def test_other_reviews_have_no_say(lengths, k, seed):
    names = [f"r{index}" for index in range(len(lengths))]
    offsets = np.cumsum([0, *lengths])
    rows, kept = sampled_rows(names, offsets, k, seed)
    for index, (name, length) in enumerate(zip(names, lengths, strict=True)):
        of_review = rows[kept[index] : kept[index + 1]] - offsets[index]
        assert of_review.tolist() == sampled_positions(name, length, k, seed)


def test_every_token_is_as_likely():
    drawn = np.zeros(40)
    for index in range(4000):
        drawn[sampled_positions(f"{index:012x}", 40, 11, seed=1)] += 1
    assert drawn[0] == 4000
    # 10 of 39; the standard deviation of a count is 27.6
    assert np.abs(drawn[1:] - 4000 * 10 / 39).max() < 4.5 * 27.6
    assert sampled_positions("a", 40, 11, seed=1) != sampled_positions("a", 40, 11, seed=2)


def test_the_choice_stays_what_it_is():
    assert sampled_positions("0123456789ab", 100, 6, seed=0) == [0, 24, 27, 28, 66, 82]


@pytest.mark.parametrize("member", ["residual_stream/002/c/1/0", "attention_received/c/1/0", "token_ids/c/0"])
def test_a_damaged_store_gives_no_sample(tmp_path, member):
    full = write_full(tmp_path / "full.zarr.zip")
    with zipfile.ZipFile(full) as archive:
        entry = archive.getinfo(member)
    flip_bit(full, entry.header_offset + 30 + len(entry.filename) + 3)
    with pytest.raises(HomogenizationError, match=r"full\.zarr\.zip: damaged or cut short"):
        sample_states(full, tmp_path / "samples/s.zarr.zip", 4, seed=7)
    assert not (tmp_path / "samples").exists() or not os.listdir(tmp_path / "samples")


def test_xarray_opens_a_store_and_a_sample_of_it(tmp_path):
    """By the names of the dimensions of their arrays, as other libraries do."""
    full, sample = write_full(tmp_path / "full.zarr.zip"), tmp_path / "sample.zarr.zip"
    sample_states(full, sample, 4, seed=0)
    for file, n_tokens in ((full, sum(LENGTHS)), (sample, 13)):
        root, layers = (
            xarray.open_zarr(ZipStore(file, mode="r"), group=group, consolidated=False)
            for group in (None, "residual_stream")
        )
        sizes = {"token": n_tokens, "width": WIDTH, "block": 3, "review": 4, "boundary": 5, "end": 2}
        assert dict(root.sizes) == sizes
        assert list(layers) == ["000", "002", "003"]
        assert root["attention_received"].dims == ("block", "token")
        with open_store(file) as store:
            np.testing.assert_array_equal(layers["002"].values, store.residual_stream(2))
            np.testing.assert_array_equal(root["review_offsets"].values, store.review_offsets)
