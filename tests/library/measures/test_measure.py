"""The tables of a store by their definitions, one review at a time, and the job that writes them."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from extracted import run, tiny
from homogenization.measures.attention import ATTENTION_SCHEMA, uniform_attention
from homogenization.measures.mauve import MAUVE_SCHEMA
from homogenization.measures.mauve import measure as measure_mauve
from homogenization.measures.measure import MATRICES_SCHEMA, READ_TEXTS_SCHEMA, TOKENS_SCHEMA, matrix_rows, measure
from homogenization.measures.pooled import POOLED_SCHEMA
from homogenization.measures.pooled import measure as measure_pooled
from homogenization.measures.views import VIEWS
from homogenization.metrics.geometry import TokenMatrix
from homogenization.run.parquet import read_table, table_metadata
from homogenization.states.store import open_store
from script import run_script
from stored import LENGTHS, N_BLOCKS, write
from tiny_models import CONFIGS

SCHEMAS = {
    "matrices": MATRICES_SCHEMA,
    "attention": ATTENTION_SCHEMA,
    "texts": READ_TEXTS_SCHEMA,
    "tokens": TOKENS_SCHEMA,
}
N, WIDTH, HEADS = sum(LENGTHS), 5, 4
OFFSETS = np.cumsum([0, *LENGTHS])


@pytest.fixture(scope="module")
def made():
    rng = np.random.default_rng(0)
    states = rng.normal(size=(N_BLOCKS + 1, N, WIDTH)).astype(np.float32)
    states[1, OFFSETS[2]] *= 1000  # a massive first token
    states[2, -1] = 0  # a token without a direction
    predicted = {"loss": [12.0, np.nan, 7.0], "entropy": [2.0, np.nan, 3.0], "divergence": [1.0, np.nan, 0.5]}
    return {
        "states": states,
        "received": rng.uniform(size=(N_BLOCKS, N)).astype(np.float32),
        "first": rng.uniform(size=(len(LENGTHS), N_BLOCKS, HEADS)).astype(np.float32),
        "predicted": {name: np.array(values) for name, values in predicted.items()},
    }


@pytest.fixture(scope="module")
def path(made, tmp_path_factory):
    path = tmp_path_factory.mktemp("states") / "s.zarr.zip"
    write(path, made["states"], LENGTHS, **{name: of for name, of in made.items() if name != "states"})
    return path


@pytest.fixture(scope="module")
def tables(path):
    with open_store(path) as store:
        return measure(store, VIEWS)


def geometry(tokens, without_first):
    """The metrics of norms and directions by loops over pairs; NaN where there are none."""
    rest = tokens[1:]
    seen = rest if without_first else tokens
    lengths = np.linalg.norm(tokens, axis=1)
    units = tokens / np.where(lengths > 0, lengths, 1)[:, None]
    of_view = units[1:] if without_first else units
    pairs = [of_view[i] @ of_view[j] for i in range(len(seen)) for j in range(i)]
    found = {
        "resultant_length": np.linalg.norm(of_view.sum(axis=0)) / len(seen) if len(seen) else np.nan,
        "cosine_anisotropy": np.mean(pairs) if pairs else np.nan,
        "cosine_dispersion": np.std(pairs) if pairs else np.nan,
    }
    median = np.median(lengths[1:]) if len(rest) else np.nan
    if without_first:
        return found | {"other_token_norm": median}
    return found | {
        "first_token_norm": lengths[0],
        "first_token_norm_ratio": lengths[0] / median if median else np.nan,
        "first_token_energy_share": lengths[0] ** 2 / (lengths**2).sum(),
        "first_token_explained_variance": sum((row @ units[0]) ** 2 for row in tokens) / (lengths**2).sum(),
        "cosine_to_first_token": np.mean([units[0] @ unit for unit in units[1:]]) if len(rest) else np.nan,
    }


def test_views_that_a_study_lacks_have_no_spectra(path):
    with open_store(path) as store:
        table = measure(store, ["centred"])["matrices"]
    with_spectra = table.group_by("view").agg(pl.col("singular_values").is_not_null().all()).rows()
    assert dict(with_spectra) == {"raw": False, "raw_without_first": False, "centred": True}


def test_texts_and_tokens(tables, made):
    for number, n in enumerate(LENGTHS):
        span, uniform = slice(OFFSETS[number], OFFSETS[number + 1]), uniform_attention(n, causal=True)
        for layer in range(N_BLOCKS + 1):
            row = tables["tokens"].filter(layer=layer, review_id=f"review{number}").row(0, named=True)
            states = made["states"][layer, span].astype(np.float64)
            lengths = np.linalg.norm(states, axis=1)
            units = states / np.where(lengths > 0, lengths, 1)[:, None]
            mean = units.mean(axis=0)
            np.testing.assert_allclose(row["cosine_to_mean"], units @ mean / np.linalg.norm(mean), atol=2e-3)
            np.testing.assert_allclose(row["norm"], lengths / np.median(lengths), rtol=2e-3)
            expected = None if layer == 0 else made["received"][layer - 1, span] / uniform
            assert row["attention"] == (expected if expected is None else pytest.approx(expected, rel=2e-3))
    numbers = ("n_tokens", "n_words", "loss_per_word", "entropy", "divergence")
    expected = [(6, 6, 2.0, 2.0, 1.0), (1, 1, None, None, None), (14, 14, 0.5, 3.0, 0.5)]
    assert tables["texts"].select(*numbers).rows() == expected
    assert tables["texts"]["token_ends"][1].to_list() == [7]


def test_the_script_writes_the_tables(path, tables, tmp_path):
    outputs = {name: str(tmp_path / f"{name}.parquet") for name in SCHEMAS}
    chosen = {"module": "measures.measure", "views": list(VIEWS)}
    run_script("measure", tmp_path / "log", {"states": str(path)}, outputs, chosen)
    for name, schema in SCHEMAS.items():
        written = read_table(outputs[name])
        assert dict(written.schema) == schema
        assert written.equals(tables[name])
    made_of = table_metadata(outputs["tokens"])["states"]
    assert made_of["shard"] == "002"
    assert "review_ids" not in made_of


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_shard_without_reviews_has_empty_tables(dtype, tmp_path):
    """As where a language model rewrote none."""
    run(tiny(CONFIGS["llama"]), [], tmp_path / "s.zarr.zip", dtype=dtype)
    with open_store(tmp_path / "s.zarr.zip") as store:
        made = measure(store, VIEWS) | measure_pooled(store) | measure_mauve(store, 20, 0)
    for table, schema in zip(made.values(), [*SCHEMAS.values(), POOLED_SCHEMA, MAUVE_SCHEMA], strict=True):
        assert table.is_empty()
        assert dict(table.schema) == schema


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 12), width=st.integers(1, 8), cone=st.sampled_from([0.0, 5.0]))
def test_geometry_of_any_tokens(seed, n, width, cone):
    """A massive first token; of more than three, the last is zero and has no direction."""
    tokens = np.random.default_rng(seed).standard_normal((n, width)) + cone
    tokens[0] *= 100
    tokens[3:][-1:] = 0
    for row, without_first in zip(matrix_rows(TokenMatrix(tokens), ()), (False, True), strict=True):
        expected = geometry(tokens, without_first)
        assert {name: row[name] for name in expected} == pytest.approx(expected, rel=1e-7, abs=1e-9, nan_ok=True)
    # the bound that makes the first token decide singular anisotropy
    squares = np.linalg.svd(tokens, compute_uv=False) ** 2
    bound = geometry(tokens, False)["first_token_explained_variance"]
    assert squares[0] / squares.sum() >= bound - 1e-12
    assert bound >= geometry(tokens, False)["first_token_energy_share"] - 1e-12


def test_dispersion_keeps_precision_in_a_cone():
    tokens = 1e4 * np.ones(50) + np.random.default_rng(0).standard_normal((20, 50))
    # the deviation of 1 - cosine, computed without cancellation
    units = tokens / np.linalg.norm(tokens, axis=1)[:, None]
    distances = [((units[i] - units[j]) ** 2).sum() / 2 for i in range(20) for j in range(i)]
    found = next(matrix_rows(TokenMatrix(tokens), ()))["cosine_dispersion"]
    assert found == pytest.approx(np.std(distances), rel=1e-6)


@pytest.mark.parametrize(
    ("tokens", "length", "cosine"),
    [(np.tile([1.0, 2.0, 2.0], (6, 1)), 1, 1), (np.eye(9), 1 / 3, 0), ([[0, 0], [1, 0], [1, 0]], 2 / 3, 1 / 3)],
)
def test_geometry_in_closed_form(tokens, length, cosine):
    row = next(matrix_rows(TokenMatrix(np.asarray(tokens, dtype=np.float64)), ()))
    assert row["resultant_length"] == pytest.approx(length)
    assert row["cosine_anisotropy"] == pytest.approx(cosine, abs=1e-15)
