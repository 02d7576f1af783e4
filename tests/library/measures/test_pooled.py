"""Pooled tokens of a shard, against singular values and cosines of the whole matrix."""

import numpy as np
import polars as pl
import pytest

from homogenization.measures import pooled as module
from homogenization.measures.pooled import POOLED_SCHEMA, measure
from homogenization.run.parquet import write_table
from homogenization.states.store import open_store
from homogenization.tables.pooled import POOLED_METRICS_SCHEMA, tabulate
from stored import N_BLOCKS, write

VIEWS = ("pooled", "pooled_without_first", "pooled_centred", "pooled_centred_without_first")


class Shard:
    """Reviews of these lengths in a store; the first tokens are `massive` times as long."""

    def __init__(self, folder, lengths, width=12, massive=1.0, seed=0):
        self.path, drawn = folder / f"{seed}{len(lengths)}.zarr.zip", np.random.default_rng(seed)
        offsets = np.cumsum([0, *lengths])
        self.is_first = np.isin(np.arange(sum(lengths)), offsets[:-1])
        shape = (N_BLOCKS + 1, sum(lengths), width)
        self.states = (drawn.standard_normal(shape) + drawn.standard_normal(width)).astype(np.float32)
        self.states[:, self.is_first] *= massive
        write(self.path, self.states, lengths, final_norm=self.states[1])

    def measure(self):
        with open_store(self.path) as store:
            return measure(store)["pooled"]

    def expected(self, layer, view):
        """Rows, singular values and cosines of a view."""
        rows = self.states[layer].astype(np.float64)
        rows = rows[~self.is_first] if view.endswith("_without_first") else rows
        rows = rows - rows.mean(axis=0) if "centred" in view else rows
        units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return rows, np.linalg.svd(rows, compute_uv=False), (units @ units.T)[np.triu_indices(len(rows), 1)]


@pytest.mark.parametrize("at_once", [7, 4096])
@pytest.mark.parametrize(("lengths", "massive"), [([9, 1, 14], 1), ([3, 5], 1), ([40, 30], 1e4)])
def test_pooled_tokens_equal_the_whole_matrix(monkeypatch, tmp_path, at_once, lengths, massive):
    monkeypatch.setattr(module, "_AT_ONCE", at_once)
    shard = Shard(tmp_path, lengths, massive=massive)
    table = shard.measure()
    assert dict(table.schema) == POOLED_SCHEMA
    points = [("residual_stream", layer, layer) for layer in range(3)] + [("final_norm", 2, 1)]
    assert len(table) == len(points) * len(VIEWS)
    for point, layer, held_at in points:
        for view in VIEWS:
            row = table.filter(point=point, layer=layer, view=view).row(0, named=True)
            rows, values, cosines = shard.expected(held_at, view)
            assert (row["n_tokens"], row["width"], row["shard"], row["depth"]) == (*rows.shape, "002", layer / 2)
            assert row["cosine_anisotropy"] == pytest.approx(cosines.mean(), abs=1e-12)
            if "centred" not in view:
                assert row["singular_values"] is row["cosine_std"] is None
                continue
            assert row["cosine_std"] == pytest.approx(cosines.std(), abs=1e-12)
            found = row["singular_values"]
            assert len(found) == min(len(rows) - 1, rows.shape[1])
            # relative to the largest, the resolution of a Gram matrix; a massive token must not spoil the others
            np.testing.assert_allclose(found, values[: len(found)], rtol=1e-9, atol=1e-7 * values[0])


@pytest.mark.parametrize(("lengths", "views"), [([1], ()), ([1, 1], ("pooled", "pooled_centred"))])
def test_too_few_tokens_have_no_row(tmp_path, lengths, views):
    assert tuple(Shard(tmp_path, lengths).measure()["view"].unique(maintain_order=True)) == views


def test_the_table_holds_metrics_of_every_job(tmp_path):
    shards = [Shard(tmp_path, [9, 4]), Shard(tmp_path, [3, 30], seed=1), Shard(tmp_path, [1], seed=2)]
    paths = [str(tmp_path / f"{number}.parquet") for number in range(3)]
    for path, shard in zip(paths, shards, strict=True):
        write_table(shard.measure(), path)
    table = tabulate(paths)
    assert dict(table.schema) == POOLED_METRICS_SCHEMA
    assert len(table) == 2 * 4 * (4 + 2 * 3 + 2)
    squares = [shard.expected(0, "pooled_centred")[1] ** 2 for shard in shards[:2]]
    found = table.filter(pl.col("layer") == 0, view="pooled_centred", metric="max_explainable_variance")["value"]
    assert sorted(found) == pytest.approx(sorted(of[0] / of.sum() for of in squares))
