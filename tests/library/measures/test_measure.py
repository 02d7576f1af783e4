"""The tables of a store by their definitions, one review at a time."""

import numpy as np
import polars as pl
import pytest

from extracted import EMBEDDED, run, tiny
from homogenization.measures.attention import ATTENTION_SCHEMA
from homogenization.measures.mauve import MAUVE_SCHEMA
from homogenization.measures.mauve import measure as measure_mauve
from homogenization.measures.measure import MATRICES_SCHEMA, READ_TEXTS_SCHEMA, TOKENS_SCHEMA, matrix_rows, measure
from homogenization.measures.pooled import POOLED_SCHEMA
from homogenization.measures.pooled import measure as measure_pooled
from homogenization.measures.views import VIEWS
from homogenization.metrics.geometry import TokenMatrix
from homogenization.states.store import open_store
from stored import LENGTHS, N_BLOCKS, uniform_attention, write
from tiny_models import CONFIGS

SCHEMAS = [MATRICES_SCHEMA, ATTENTION_SCHEMA, READ_TEXTS_SCHEMA, TOKENS_SCHEMA, POOLED_SCHEMA, MAUVE_SCHEMA]
N, OFFSETS = sum(LENGTHS), np.cumsum([0, *LENGTHS])
WINDOWS = (None, 5)  # of the blocks


def test_texts_and_tokens(tmp_path):
    rng = np.random.default_rng(0)
    states = rng.normal(size=(N_BLOCKS + 1, N, 5)).astype(np.float32)
    states[1, OFFSETS[2]] *= 1000  # a massive first token
    states[2, -1] = 0  # a token without a direction
    predicted = {"loss": [12.0, np.nan, 7.0], "entropy": [2.0, np.nan, 3.0], "divergence": [1.0, np.nan, 0.5]}
    received, first = rng.uniform(size=(N_BLOCKS, N)), rng.uniform(size=(len(LENGTHS), N_BLOCKS, 4))
    read = {"predicted": {name: np.array(values) for name, values in predicted.items()}, "windows": WINDOWS}
    write(tmp_path / "s.zarr.zip", states, LENGTHS, received=received, first=first, **read)
    with open_store(tmp_path / "s.zarr.zip") as store:
        tables = measure(store, ["centred"])
    with_spectra = tables["matrices"].group_by("view").agg(pl.col("singular_values").is_not_null().all()).rows()
    assert dict(with_spectra) == {"raw": False, "raw_without_first": False, "centred": True}, "other views have none"
    for number, n in enumerate(LENGTHS):
        span = slice(OFFSETS[number], OFFSETS[number + 1])
        for layer in range(N_BLOCKS + 1):
            row = tables["tokens"].filter(layer=layer, review_id=f"review{number}").row(0, named=True)
            tokens = states[layer, span].astype(np.float64)
            lengths = np.linalg.norm(tokens, axis=1)
            units = tokens / np.where(lengths > 0, lengths, 1)[:, None]
            mean = units.mean(axis=0)
            np.testing.assert_allclose(row["cosine_to_mean"], units @ mean / np.linalg.norm(mean), atol=2e-3)
            np.testing.assert_allclose(row["norm"], lengths / np.median(lengths), rtol=2e-3)
            uniform = uniform_attention(n, WINDOWS[layer - 1])
            expected = None if layer == 0 else received[layer - 1, span] / uniform
            assert row["attention"] == (expected if expected is None else pytest.approx(expected, rel=2e-3))
    numbers = ("n_tokens", "n_words", "loss_per_word", "entropy", "divergence")
    expected = [(6, 6, 2.0, 2.0, 1.0), (1, 1, None, None, None), (14, 14, 0.5, 3.0, 0.5)]
    assert tables["texts"].select(*numbers).rows() == expected
    assert tables["texts"]["token_ends"][1].to_list() == [7]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_shard_without_reviews_has_empty_tables(dtype, tmp_path):
    """As where a language model rewrote none."""
    run(tiny(CONFIGS["llama"]), [], tmp_path / "s.zarr.zip", dtype=dtype)
    with open_store(tmp_path / "s.zarr.zip") as store:
        made = measure(store, VIEWS) | measure_pooled(store) | measure_mauve(store, 20, 0)
    for table, schema in zip(made.values(), SCHEMAS, strict=True):
        assert table.is_empty()
        assert dict(table.schema) == schema


def test_neighbours_are_shared_with_the_layer_before_alone(tmp_path):
    run(tiny(CONFIGS["llama"]), EMBEDDED[:1], tmp_path / "s.zarr.zip", layers=[0, 2, 3])
    with open_store(tmp_path / "s.zarr.zip") as store:
        rows = measure(store, ())["matrices"].filter(view="raw", point="residual_stream")
    known = pl.col("neighbourhood_overlap").is_finite().fill_null(False)
    assert rows.select("layer", known).rows() == [(0, False), (2, False), (3, True)]


def test_dispersion_keeps_precision_in_a_cone():
    tokens = 1e4 * np.ones(50) + np.random.default_rng(0).standard_normal((20, 50))
    # the deviation of 1 - cosine, computed without cancellation
    units = tokens / np.linalg.norm(tokens, axis=1)[:, None]
    distances = [((units[i] - units[j]) ** 2).sum() / 2 for i in range(20) for j in range(i)]
    found = next(matrix_rows(TokenMatrix(tokens), ()))["cosine_dispersion"]
    assert found == pytest.approx(np.std(distances), rel=1e-6)


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        ([[3, 4]], {"first_token_norm": 5, "first_token_energy_share": 1, "resultant_length": 1}),
        ([[3, 4], [0, 0]], {"first_token_norm": 5, "cosine_to_first_token": 0, "cosine_anisotropy": 0}),
        ([[0, 0], [0, 0]], {"first_token_norm": 0, "cosine_anisotropy": 0, "resultant_length": 0}),
        ([[0, 0], [1, 0], [1, 0]], {"first_token_norm_ratio": 0, "resultant_length": 2 / 3}),
    ],
)
def test_few_tokens_and_tokens_without_a_direction(tokens, expected):
    """What they lack is NaN."""
    of_all, rest = matrix_rows(TokenMatrix(np.array(tokens, dtype=np.float64)), ())
    assert {name: of_all[name] for name in expected} == pytest.approx(expected)
    assert np.isnan(of_all["first_token_norm_ratio"]) == (not np.any(tokens[1:]))
    assert np.isnan(of_all["first_token_explained_variance"]) == (not np.any(tokens))
    assert np.isnan(of_all["cosine_dispersion"]) == np.isnan(rest["other_token_norm"]) == (len(tokens) == 1)
    assert np.isnan(rest["cosine_anisotropy"]) == (len(tokens) < 3)
