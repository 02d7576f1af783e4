"""A store that is damaged is named and moved aside, and what is no damage is left in place."""

import os
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from homogenization.run.errors import HomogenizationError
from homogenization.states.store import open_store
from stored import LENGTHS, N_BLOCKS, write


def read_all(path):
    with open_store(path) as store:
        arrays = [store.residual_stream(layer) for layer in store.layers]
        arrays += [store.attention_received(), store.token_ids, store.positions, store.token_offsets]
        return [*arrays, store.review_offsets, store.tokens_before_truncation], store.attributes


@pytest.fixture(scope="module", params=["float32", "bfloat16"])
def whole(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "s.zarr.zip"
    rng = np.random.default_rng(0)
    states = rng.normal(size=(N_BLOCKS + 1, 21, 4)).astype(np.float32)
    write(path, states, LENGTHS, dtype=request.param, received=rng.random((N_BLOCKS, 21), dtype=np.float32))
    return path


DAMAGED = r"s\.zarr\.zip: damaged or cut short .*moved to .*s\.zarr\.zip\.damaged\. Run the same command again"


@given(position=st.floats(0, 1, exclude_max=True), flip=st.integers(1, 255))
def test_a_flipped_byte_is_named_or_without_effect(whole, tmp_path_factory, position, flip):
    content = bytearray(whole.read_bytes())
    content[int(position * len(content))] ^= flip
    damaged = tmp_path_factory.mktemp("damaged") / "s.zarr.zip"
    damaged.write_bytes(content)
    expected, expected_attributes = read_all(whole)
    try:
        arrays, attributes = read_all(damaged)
    except HomogenizationError as error:
        arrays, attributes, message = expected, expected_attributes, str(error)
    else:
        message = f"{damaged} is read"
    assert str(damaged) in message
    assert attributes == expected_attributes
    for array, untouched in zip(arrays, expected, strict=True):
        np.testing.assert_array_equal(array, untouched)


def test_a_flipped_byte_in_a_chunk_is_named(whole, tmp_path):
    with zipfile.ZipFile(whole) as archive:
        chunk = archive.getinfo("residual_stream/001/c/1/0")
    content = bytearray(whole.read_bytes())
    content[chunk.header_offset + 30 + len(chunk.filename) + 17] ^= 1
    (tmp_path / "s.zarr.zip").write_bytes(content)
    with open_store(tmp_path / "s.zarr.zip") as store:
        store.residual_stream(0)
        with pytest.raises(HomogenizationError, match=DAMAGED):
            store.residual_stream(1)


@pytest.mark.parametrize("share", [0, 0.3, 0.9, 0.999])
def test_a_truncated_file_is_named_moved_aside_and_kept(whole, tmp_path, share):
    content = whole.read_bytes()[: int(share * whole.stat().st_size)]
    (tmp_path / "s.zarr.zip").write_bytes(content)
    with pytest.raises(HomogenizationError, match=DAMAGED), open_store(tmp_path / "s.zarr.zip"):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["s.zarr.zip.damaged"]
    assert (tmp_path / "s.zarr.zip.damaged").read_bytes() == content


@pytest.mark.parametrize(
    "member",
    [
        "residual_stream/001/c/1/0",
        "residual_stream/001/zarr.json",
        "attention_received/c/1/0",
        "positions/c/0",
        "zarr.json",
    ],
)
def test_a_missing_part_is_named(whole, tmp_path, member):
    with zipfile.ZipFile(whole) as archive, zipfile.ZipFile(tmp_path / "s.zarr.zip", "w") as copy:
        assert member in archive.namelist()
        for name in archive.namelist():
            if name != member:
                copy.writestr(name, archive.read(name))
    with pytest.raises(HomogenizationError, match=DAMAGED), open_store(tmp_path / "s.zarr.zip"):
        pass


def test_a_file_that_is_not_there_is_no_damage(tmp_path):
    with pytest.raises(HomogenizationError, match="gone"), open_store(tmp_path / "s.zarr.zip"):
        pass


def test_a_disk_that_fails_is_no_damage(whole, tmp_path):
    path = tmp_path / "s.zarr.zip"
    path.write_bytes(whole.read_bytes())
    with open_store(path) as store, open(os.devnull, "wb") as unreadable:
        os.dup2(unreadable.fileno(), store._group.store._zf.fp.fileno())
        with pytest.raises(OSError, match="Bad file descriptor"):
            store.residual_stream(0)
    assert path.exists()


def test_layers_that_are_not_stored_are_no_damage(whole, tmp_path):
    path = tmp_path / "s.zarr.zip"
    path.write_bytes(whole.read_bytes())
    with open_store(path) as store, pytest.raises(ValueError, match=r"layer 3 is not among .*0, 1, 2"):
        store.residual_stream(3)
    assert path.exists()
