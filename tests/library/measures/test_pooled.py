"""Pooled tokens of a shard, against singular values and cosines of the whole matrix."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from homogenization.measures import pooled as module
from homogenization.measures.pooled import POOLED_SCHEMA, Pooled
from homogenization.measures.reviews import measured
from homogenization.metrics.spectral import SpectrumBatch, evaluate
from homogenization.run.parquet import write_table
from homogenization.tables.pooled import POOLED_METRICS_SCHEMA, SPECTRAL, tabulate

VIEWS = ("pooled", "pooled_without_first", "pooled_centred", "pooled_centred_without_first")


def measure(states):
    """The table of pooled tokens."""
    (table,) = measured(Pooled(states))
    return table


class Store:
    """Reviews of these lengths, in layers 0 and 2 of two blocks; the first tokens are `massive` times as long."""

    n_blocks, layers = 2, (0, 2)

    def __init__(self, lengths, width=12, massive=1.0, seed=0):
        self.attributes = {"model": "m", "variant": "front", "shard": "001"}
        self.review_offsets = np.cumsum([0, *lengths])
        drawn = np.random.default_rng(seed)
        self.states = (drawn.standard_normal((3, sum(lengths), width)) + drawn.standard_normal(width)).astype(
            np.float32
        )
        self.is_first = np.isin(np.arange(sum(lengths)), self.review_offsets[:-1])
        self.states[:, self.is_first] *= massive

    def residual_stream(self, layer, tokens=slice(None)):
        return self.states[layer, tokens]

    def final_norm(self, tokens=slice(None)):
        return self.states[1, tokens]

    def view(self, layer, view):
        rows = self.states[layer].astype(np.float64)
        rows = rows[~self.is_first] if view.endswith("_without_first") else rows
        return rows - rows.mean(axis=0) if "centred" in view else rows


def expected(rows):
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    cosines = units @ units.T
    return np.linalg.svd(rows, compute_uv=False), cosines[np.triu_indices(len(rows), 1)]


@pytest.mark.parametrize("block", [7, 4096])
@pytest.mark.parametrize(("lengths", "width", "massive"), [([9, 1, 14], 12, 1), ([3, 5], 12, 1), ([40, 30], 12, 1e4)])
def test_pooled_tokens_equal_the_whole_matrix(monkeypatch, block, lengths, width, massive):
    monkeypatch.setattr(module, "_BLOCK_TOKENS", block)
    store = Store(lengths, width, massive)
    table = measure(store)
    assert dict(table.schema) == POOLED_SCHEMA
    points = [("residual_stream", 0, 0, 0.0), ("residual_stream", 2, 2, 1.0), ("final_norm", 2, 1, 1.0)]
    assert len(table) == len(points) * len(VIEWS)
    for point, layer, held_at, depth in points:
        for view in VIEWS:
            row = table.filter(point=point, layer=layer, view=view).row(0, named=True)
            rows = store.view(held_at, view)
            values, cosines = expected(rows)
            assert (row["n_tokens"], row["width"], row["shard"], row["depth"]) == (*rows.shape, "001", depth)
            assert row["cosine_anisotropy"] == pytest.approx(cosines.mean(), abs=1e-12)
            found = row["singular_values"]
            if "centred" not in view:
                assert found == []
                continue
            assert row["cosine_std"] == pytest.approx(cosines.std(), abs=1e-12)
            assert len(found) == min(len(rows) - 1, rows.shape[1])
            # relative to the largest, the resolution of a Gram matrix; a massive token must not spoil the others
            np.testing.assert_allclose(found, values[: len(found)], rtol=1e-9, atol=1e-7 * values[0])


def test_the_spread_of_cosines_is_that_of_drawn_tokens(monkeypatch):
    """The same tokens at every layer, and a good estimate of all pairs."""
    store = Store([300, 200], width=6)
    store.states[1:] = store.states[0]
    every = measure(store)
    monkeypatch.setattr(module, "_PAIRED_TOKENS", 250)
    drawn = measure(store).filter(view="pooled_centred")
    assert drawn["cosine_std"].n_unique() == 1
    whole = every.filter(view="pooled_centred")["cosine_std"][0]
    assert drawn["cosine_std"][0] == pytest.approx(whole, rel=0.05)
    assert drawn["cosine_std"][0] != whole


@given(seed=st.integers(0, 99), lengths=st.lists(st.integers(1, 20), min_size=2, max_size=5))
def test_without_the_first_tokens_their_length_does_not_matter(seed, lengths):
    if sum(lengths) - len(lengths) < 2:
        return
    small, massive = (measure(Store(lengths, 5, factor, seed)) for factor in (1.0, 1e6))
    rest = pl.col("view").str.ends_with("_without_first")
    for column in ("cosine_anisotropy", "n_tokens", "singular_values"):
        assert small.filter(rest)[column].to_list() == massive.filter(rest)[column].to_list()


@pytest.mark.parametrize(("lengths", "views"), [([], ()), ([1], ()), ([1, 1], ("pooled", "pooled_centred"))])
def test_too_few_tokens_have_no_row(lengths, views):
    assert tuple(measure(Store(lengths))["view"].unique(maintain_order=True)) == views


def test_the_table_holds_metrics_of_every_job(tmp_path):
    paths = [str(tmp_path / name) for name in ("a", "b", "empty")]
    stores = [Store([9, 4]), Store([3, 30], seed=1), Store([])]
    for path, store in zip(paths, stores, strict=True):
        write_table(measure(store), path)
    table = tabulate(paths)
    assert dict(table.schema) == POOLED_METRICS_SCHEMA
    assert len(table) == 2 * 3 * (4 + 2 * len(SPECTRAL) + 2)
    chosen = table.filter(pl.col("layer") == 0, pl.col("view") == "pooled_centred")
    for metric in SPECTRAL:
        of_stores = []
        for store in stores[:2]:
            values, _ = expected(store.view(0, "pooled_centred"))
            of_stores.append(evaluate(metric, SpectrumBatch(values[None], np.array([len(values)])))[0])
        assert sorted(chosen.filter(metric=metric)["value"]) == pytest.approx(sorted(of_stores))
    assert tabulate(paths[2:]).schema == POOLED_METRICS_SCHEMA
