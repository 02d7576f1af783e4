"""Measured in the pass: the tables of the road over a store, metric by metric, in several architectures."""

import pickle
from itertools import product

import numpy as np
import polars as pl
import pytest
import torch
from polars.testing import assert_frame_equal

from extracted import EMBEDDED, held, pack_reviews_together, run, tiny
from homogenization.measures import in_pass, pooled
from homogenization.measures.catalogue import MEASURES
from homogenization.measures.device_tokens import on_device
from homogenization.measures.geometry import geometry_of
from homogenization.measures.in_pass import measure_in_pass
from homogenization.measures.reviews import class_of, measured
from homogenization.measures.spectra import spectra_of
from homogenization.measures.views import VIEWS, TokenGram
from homogenization.measures.workers import Workers
from homogenization.names.points import ATTENTION_RECEIVED
from homogenization.run.errors import HomogenizationError
from homogenization.states.held import HeldStates
from homogenization.states.sample import Sample, sample_states
from homogenization.states.store import TOKEN_ARRAYS, open_store
from tiny_models import CONFIGS, beginning

PARAMS = {
    "spectra": {"views": sorted(VIEWS)},
    "geometry": {},
    "attention": {"n_bins": 20},
    "pooled": {},
    "mauve": {"n_tokens": 60, "seeds": [0, 1], "scale": 5.0},
}
ARCHITECTURES = ("llama", "gemma2", "qwen2_sliding", "gpt2", "bert")


def texts_of(model):
    """Reviews of unequal lengths, of one token and of more than the width."""
    return [beginning(model.tokenizer, text, n) for text, n in zip(EMBEDDED, (60, 1, 20, 64, 33, 5), strict=False)]


def over_store(model, texts, path, **settings):
    """Every table, and what else a job leaves, by the road over a store."""
    record = run(model, texts, path, **settings)
    with open_store(path) as store:
        tables = {name: measured(class_of(name)(store, **params)) for name, params in PARAMS.items()}
        return record, store.attributes, tables


def in_the_pass(model, texts, measures=PARAMS, sample=None, workers=None, **settings):
    """The record, the attributes that a store would have, and every table."""
    states = held(model, texts, **settings)
    record, tables = measure_in_pass(states, measures, sample, workers)
    return record, states.attributes, tables


def assert_same(found, expected, rounded=()):
    """Bit for bit, apart from the measures `rounded`."""
    assert found.keys() == expected.keys()
    for name, tables in expected.items():
        assert sum(map(len, tables)), name
        # a root of an eigenvalue of 1e-16 of the largest
        tolerance = {"rel_tol": 1e-9, "abs_tol": 1e-6} if name in rounded else {"check_exact": True}
        for mine, theirs in zip(found[name], tables, strict=True):
            assert_frame_equal(mine, theirs, **tolerance)


@pytest.mark.parametrize(("architecture", "dtype"), [*product(ARCHITECTURES, ["auto"]), ("gemma2", "bfloat16")])
def test_the_tables_are_those_over_a_store_bit_for_bit(tmp_path, architecture, dtype):
    model = tiny(CONFIGS[architecture])
    texts = texts_of(model)
    settings = {"token_budget": 100, "dtype": dtype}
    expected_record, expected_attributes, expected = over_store(model, texts, tmp_path / "s.zarr.zip", **settings)
    record, attributes, found = in_the_pass(model, texts, **settings)
    assert_same(found, expected)
    assert attributes == expected_attributes
    measured_times = {name for name in record if name.startswith(("seconds", "tokens_per", "peak"))}
    assert record.keys() == expected_record.keys()
    assert {**record, **dict.fromkeys(measured_times)} == {**expected_record, **dict.fromkeys(measured_times)}


def test_chosen_layers_are_measured_alone(tmp_path):
    model = tiny(CONFIGS["llama"])
    settings = {"layers": [0, -1, 2]}
    *_, expected = over_store(model, texts_of(model), tmp_path / "s.zarr.zip", **settings)
    *_, found = in_the_pass(model, texts_of(model), **settings)
    assert_same(found, expected)
    assert set(found["spectra"][0]["layer"]) == {0, 2, 3}


@pytest.mark.parametrize("architecture", ["llama", "gemma2", "gpt2"])
def test_pooled_tokens_that_are_too_many_to_be_held_are_read_twice(tmp_path, monkeypatch, architecture):
    model = tiny(CONFIGS[architecture])
    *_, expected = over_store(model, texts_of(model), tmp_path / "s.zarr.zip")
    monkeypatch.setattr(in_pass, "HELD_BYTES", 0)
    *_, found = in_the_pass(model, texts_of(model), token_budget=70)
    assert_same(found, expected, rounded={"pooled"})


def test_a_pass_that_runs_out_of_memory_counts_once(tmp_path, monkeypatch):
    """In each walk the first passes fail in the midst of a layer, with some layers taken already."""
    model = tiny(CONFIGS["llama"], dtype=torch.float64)  # whose rounding in packs is below that of float32
    *_, expected = over_store(model, texts_of(model), tmp_path / "s.zarr.zip", dtype="float32")
    monkeypatch.setattr(in_pass, "HELD_BYTES", 0)
    pack_reviews_together(monkeypatch)
    failures = []

    def failing(states, take, block):
        take(states, block)  # it is through
        if len(block.states) > 70 and block.layer == 2:
            failures.append(len(block.states))
            raise torch.OutOfMemoryError("CUDA out of memory")

    add = HeldStates.add
    monkeypatch.setattr(HeldStates, "add", lambda states, block: failing(states, add, block))
    record, _, found = in_the_pass(model, texts_of(model), dtype="float32")
    assert len(failures) >= 2
    assert record["token_budget"] < 128
    assert_same(found, expected, rounded={"pooled"})


def test_a_sample_is_that_of_the_store(tmp_path):
    model = tiny(CONFIGS["gemma"], dtype=torch.bfloat16)
    texts = texts_of(model)
    run(model, texts, tmp_path / "s.zarr.zip")
    sample_states(tmp_path / "s.zarr.zip", tmp_path / "expected.zarr.zip", 4, seed=7)
    sample = Sample(tmp_path / "found.zarr.zip", 4, 7, 100)
    in_the_pass(model, texts, measures={"attention": PARAMS["attention"]}, sample=sample)
    with open_store(tmp_path / "found.zarr.zip") as found, open_store(tmp_path / "expected.zarr.zip") as expected:
        assert found.attributes == expected.attributes
        assert found.contents.points == expected.contents.points
        assert (found.attention_received() is None) == (expected.attention_received() is None)
        for name in (*TOKEN_ARRAYS, *found.contents.points, ATTENTION_RECEIVED):
            mine, theirs = found.read(name), expected.read(name)
            assert mine.dtype == theirs.dtype
            assert (mine == theirs).all(), name


def test_workers_find_the_same_and_their_faults_end_the_job(monkeypatch):
    model = tiny(CONFIGS["llama"])
    *_, expected = in_the_pass(model, texts_of(model))
    workers = Workers(2)
    try:
        *_, found = in_the_pass(model, texts_of(model), workers=workers)
        assert_same(found, expected)
        # pooled tokens and pairs of MAUVE are shared out too, more of them than there are workers
        monkeypatch.setattr(in_pass, "HELD_BYTES", 0)
        *_, found = in_the_pass(model, texts_of(model), workers=workers)
        assert_same(found, expected, rounded={"pooled"})
        assert list(workers.each(str, range(9))) == list(map(str, range(9)))
        with pytest.raises(KeyError, match="no view"):
            in_the_pass(model, texts_of(model), measures={"spectra": {"views": ["no view"]}}, workers=workers)
    finally:
        workers.close()


def test_no_review_gives_empty_tables():
    *_, found = in_the_pass(tiny(CONFIGS["llama"]), [])
    for name in PARAMS:
        for table, schema in zip(found[name], class_of(name).schemas, strict=True):
            assert table.is_empty()
            assert dict(table.schema) == schema


def test_states_that_a_store_refuses_are_refused():
    def massive(network):
        network.layers[0].mlp.down_proj.weight.data.fill_(1e6)

    model = tiny(CONFIGS["llama"], weights=massive)
    with pytest.raises(HomogenizationError, match=r"variant front.* review r0: .*float16 can hold"):
        in_the_pass(model, texts_of(model)[:1], dtype="float16")


def test_all_measures_of_the_catalogue_are_compared_here():
    assert MEASURES.keys() == PARAMS.keys()


def test_pooled_tokens_are_added_up_by_torch_as_by_numpy():
    tokens = np.random.default_rng(0).standard_normal((70, 12)) + 3
    tokens[5] = 0
    is_first, is_drawn = (np.arange(70) % every == 0 for every in (9, 4))
    found = []
    for kind in (np.asarray, torch.from_numpy):
        means, parts = pooled.Means(), (slice(0, 31), slice(31, 70))
        for part in parts:
            means.add(kind(tokens[part]), is_first[part])
        sums = pooled.Sums(means)
        for part in parts:
            sums.add(kind(tokens[part]), is_first[part], is_drawn[part])
        found.append(pl.DataFrame(list(map(pooled._measured, sums.samples({})))))
    assert len(found[0]) == 4
    assert_frame_equal(*found, rel_tol=1e-10)


class TestDeviceTokens:
    """The arithmetic that runs where the states lie, here on the CPU."""

    @pytest.mark.parametrize(("n", "massive"), [(30, 1.0), (30, 1e4), (1, 1.0), (2, 1.0)])
    @pytest.mark.parametrize("mean", [0.0, 50.0])
    def test_numbers_are_those_of_the_tokens(self, n, massive, mean):
        tokens = np.random.default_rng(0).standard_normal((n, 48)).astype(np.float32) + np.float32(mean)
        tokens[0] *= np.float32(massive)
        chosen = np.arange(0, n, 2)
        # with another review and another size of a subset, which go through the same copy
        other = np.random.default_rng(1).standard_normal((9, 48)).astype(np.float32)
        found, _ = on_device([*map(torch.from_numpy, (tokens, other))], [[chosen[:1], chosen], [np.arange(4)]])
        found = pickle.loads(pickle.dumps(found))
        there = TokenGram(tokens.astype(np.float64))
        for mine, theirs in ((found, there), (found.subset(chosen), there.subset(chosen))):
            assert mine.shape == theirs.shape
            expected = spectra_of(theirs, VIEWS)
            for view, values in spectra_of(mine, VIEWS).items():
                largest = max(expected[view], default=0)
                np.testing.assert_allclose(values, expected[view], rtol=1e-9, atol=1e-8 * largest)
            for name, number in geometry_of(theirs).items():
                np.testing.assert_allclose(geometry_of(mine)[name], number, rtol=1e-9, atol=1e-9, err_msg=name)
