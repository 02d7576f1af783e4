from types import SimpleNamespace

import numpy as np
import polars as pl

from homogenization.measures.reviews import measured_table, provenance, with_origin
from homogenization.states.stream import stream

SCHEMA = {
    "model": pl.String,
    "variant": pl.String,
    "review_id": pl.String,
    "layer": pl.Int32,
    "depth": pl.Float64,
    "x": pl.Float64,
}


def store_of():
    """Three tokens in two reviews of a model of four blocks, of which two layers are stored."""
    states = np.arange(6, dtype=np.float32).reshape(3, 2)
    return SimpleNamespace(
        attributes={"model": "m", "variant": "front", "review_ids": ["a", "b"], "revision": None},
        review_ids=["a", "b"],
        review_offsets=np.array([0, 1, 3]),
        n_blocks=4,
        layers=[0, 2],
        residual_stream=lambda layer: states * (layer + 1),
        final_norm=lambda: states * 10,
    )


def test_every_review_at_every_point_and_layer():
    found = [(*place.values(), tokens.tolist()) for place, tokens in stream(store_of())]
    assert found == [
        ("a", "residual_stream", 0, 1, 2, [[0, 1]]),
        ("b", "residual_stream", 0, 2, 2, [[2, 3], [4, 5]]),
        ("a", "residual_stream", 2, 1, 2, [[0, 3]]),
        ("b", "residual_stream", 2, 2, 2, [[6, 9], [12, 15]]),
        ("a", "final_norm", 4, 1, 2, [[0, 10]]),
        ("b", "final_norm", 4, 2, 2, [[20, 30], [40, 50]]),
    ]


def test_a_table_says_what_it_is_of():
    """Depth is that of the model where its last layer is not stored."""
    rows = ({"review_id": "a", "layer": layer, "x": 1.5} for layer in (0, 2))
    table = measured_table(rows, store_of(), SCHEMA)
    assert dict(table.schema) == SCHEMA
    assert table.rows() == [("m", "front", "a", 0, 0.0, 1.5), ("m", "front", "a", 2, 0.5, 1.5)]
    assert dict(measured_table([], store_of(), SCHEMA).schema) == SCHEMA


def test_depth():
    table = with_origin(pl.DataFrame({"layer": [0, 3, 6], "x": [1, 2, 3]}), {"model": "m", "variant": "v"}, 6)
    assert table["depth"].to_list() == [0, 0.5, 1]
    assert with_origin(pl.DataFrame({"to": [0]}), {"model": "m", "variant": "v"}, 0, "to")["depth"].to_list() == [0]


def test_provenance_is_all_but_the_reviews():
    assert provenance(store_of()) == {"model": "m", "variant": "front", "revision": None}
