"""Metrics on a common number of tokens: which tokens are drawn, and that the numbers are those of the drawn tokens."""

import math
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from scipy import stats

from homogenization.measures.common_length import CommonLength, drawn_positions
from homogenization.measures.geometry import Geometry
from homogenization.measures.reviews import measured
from homogenization.measures.spectra import Spectra
from homogenization.measures.views import VIEWS, view_rows
from homogenization.metrics.catalogue import METRIC_NAMES
from homogenization.models.tokens import Tokens
from homogenization.names.points import ALL_TOKENS, RESIDUAL_STREAM
from homogenization.run.parquet import read_table, table_metadata, write_table
from homogenization.states.stream import Block, Contents, StoreShape
from homogenization.states.writer import written_store
from homogenization.tables.common_length import mean_over_draws, tabulate
from homogenization.tables.metrics import METRICS_SCHEMA, metrics_of_reviews
from homogenization.tables.similarity import SIMILARITY_SCHEMA
from measured import written
from script import run_script

LENGTHS = {"long": 40, "short": 9, "exact": 12, "longer": 61}
WIDTH = 16
N_TOKENS, DRAWS, SEED = 12, 3, 5
KEYS = ("review_id", "point", "layer", "view", "metric")
METRICS = ["effective_rank", "alpha_req", "cosine_anisotropy", "first_token_norm_ratio", "first_token_attention_share"]


def store_of(lengths=LENGTHS, order=None, scale_of_layer=None, width=WIDTH):
    """What a store gives to read: each review's states come from a generator of its own."""
    names = order or list(lengths)

    def states(layer, chosen=ALL_TOKENS):
        of_reviews = []
        for name in names:
            seed = [ord(letter) for letter in name] + [0 if scale_of_layer else layer]
            tokens = np.random.default_rng(seed).standard_normal((lengths[name], width)) + 0.3
            of_reviews.append(tokens * (scale_of_layer[layer] if scale_of_layer else 1))
        return np.concatenate(of_reviews).astype(np.float32)[chosen]

    return SimpleNamespace(
        attributes={"model": "tiny", "variant": "front"},
        review_ids=names,
        review_offsets=np.cumsum([0, *(lengths[name] for name in names)]),
        token_ids=np.arange(sum(lengths[name] for name in names)),
        layers=[0, 2],
        n_blocks=2,
        residual_stream=states,
        final_norm=lambda tokens: states(7, tokens) if not scale_of_layer else None,
    )


def common(store, metrics=METRICS, views=("raw", "unit_without_first"), n_tokens=N_TOKENS, draws=DRAWS, seed=SEED):
    spectra, geometry = measured(CommonLength(store, n_tokens, draws, seed, views))
    return mean_over_draws(metrics_of_reviews(spectra, geometry, None, metrics))


class TestPositions:
    @given(n=st.integers(1, 60), more=st.integers(0, 60), draw=st.integers(0, 9), seed=st.integers(0, 2**32))
    @settings(deadline=None)
    def test_ascending_distinct_and_with_the_first(self, n, more, draw, seed):
        positions = drawn_positions("review", n + more, n, draw, seed)
        assert positions.shape == (n,)
        assert positions[0] == 0
        assert (np.diff(positions) > 0).all()
        assert positions[-1] < n + more

    def test_seed_review_and_draw_decide(self):
        first = drawn_positions("review", 200, 20, 0, 1)
        np.testing.assert_array_equal(first, drawn_positions("review", 200, 20, 0, 1))
        for other in (("other", 0, 1), ("review", 1, 1), ("review", 0, 2)):
            assert (first != drawn_positions(other[0], 200, 20, *other[1:])).any()

    def test_every_token_is_as_likely(self):
        draws = [drawn_positions("review", 31, 11, draw, seed=3)[1:] for draw in range(3000)]
        counts = np.bincount(np.concatenate(draws), minlength=31)[1:]
        # drawing without replacement spreads less than independent draws would: by (1 - 10 / 30)
        statistic = ((counts - 1000) ** 2 / 1000).sum() / (1 - 10 / 30) * (29 / 30)
        assert 1e-3 < stats.chi2(29).sf(statistic) < 1 - 1e-3


def test_numbers_are_those_of_the_drawn_tokens():
    """By an SVD of the view's rows and by all pairs of tokens, draw by draw."""
    store = store_of()
    table = common(store)
    assert dict(table.schema) == METRICS_SCHEMA
    values = {row[:-1]: row[-1] for row in table.select(*KEYS, "value").iter_rows()}
    states = store.residual_stream(2)[store.review_offsets[3] :].astype(np.float64)
    subsets = [states[drawn_positions("longer", 61, N_TOKENS, draw, SEED)] for draw in range(DRAWS)]
    for view in ("raw", "unit_without_first"):
        shares = [np.linalg.svd(view_rows(view, subset), compute_uv=False) for subset in subsets]
        expected = np.mean([np.exp(stats.entropy(singular)) for singular in shares])
        assert values["longer", "residual_stream", 2, view, "effective_rank"] == pytest.approx(expected)
    for view, first in (("all_tokens", 0), ("without_first", 1)):
        units = [subset[first:] / np.linalg.norm(subset[first:], axis=1, keepdims=True) for subset in subsets]
        plain = [(unit @ unit.T)[np.triu_indices(len(unit), 1)].mean() for unit in units]
        assert values["longer", "residual_stream", 2, view, "cosine_anisotropy"] == pytest.approx(np.mean(plain))
    norms = [np.linalg.norm(subset, axis=1) for subset in subsets]
    ratio = np.mean([norm[0] / np.median(norm[1:]) for norm in norms])
    assert values["longer", "residual_stream", 2, "all_tokens", "first_token_norm_ratio"] == pytest.approx(ratio)


def test_rows():
    """Long enough reviews, every point and layer, the views asked for and those of geometry, no attention."""
    table = common(store_of())
    assert table["review_id"].unique(maintain_order=True).to_list() == ["long", "exact", "longer"]
    places = table.select("point", "layer").unique().sort("point", "layer").rows()
    assert places == [("final_norm", 2), ("residual_stream", 0), ("residual_stream", 2)]
    cells = table.select("view", "metric").unique().sort("metric", "view").rows()
    assert cells == [
        ("raw", "alpha_req"),
        ("unit_without_first", "alpha_req"),
        ("all_tokens", "cosine_anisotropy"),
        ("without_first", "cosine_anisotropy"),
        ("raw", "effective_rank"),
        ("unit_without_first", "effective_rank"),
        ("all_tokens", "first_token_norm_ratio"),
    ]
    assert table.select(KEYS).is_duplicated().sum() == 0
    assert len(table) == 3 * 3 * 7


def test_only_accepted_reviews(tmp_path):
    scores = {"variant": "front", "precision": 1.0, "recall": 1.0, "f1": 1.0}
    rows = [{**scores, "review_id": name, "accepted": name != "exact"} for name in LENGTHS]
    files = written(tmp_path, *measured(CommonLength(store_of(), N_TOKENS, DRAWS, SEED, ["raw"])))
    table = tabulate(*([path] for path in files), pl.DataFrame(rows, schema=SIMILARITY_SCHEMA), METRICS)
    assert set(table["review_id"]) == {"long", "longer"}


def test_review_of_that_very_length_has_the_metrics_of_the_study():
    """Every metric, through the tables that the study itself makes."""
    store = store_of()
    study = metrics_of_reviews(*measured(Spectra(store, VIEWS)), *measured(Geometry(store)), None, METRIC_NAMES)
    study = study.filter(review_id="exact")
    table = common(store, metrics=METRIC_NAMES, views=VIEWS).filter(review_id="exact")
    both = table.join(study, on=KEYS, how="full", suffix="_study")
    assert both["value"].null_count() == both["value_study"].null_count() == 0
    np.testing.assert_allclose(both["value"], both["value_study"], rtol=1e-12)


def test_other_reviews_and_their_order_do_not_matter():
    table = common(store_of())
    turned = common(store_of(order=["longer", "short", "exact", "long"]))
    assert_frame_equal(table.sort(KEYS), turned.sort(KEYS), check_exact=True)
    alone = common(store_of(order=["long"]))
    assert_frame_equal(table.filter(review_id="long"), alone, check_exact=True)


def test_length_alone_no_longer_shows():
    """Tokens of one distribution, some reviews twice as long: ranks tell the lengths apart, but not on 30 tokens."""
    lengths = {f"review{index}": 30 + 2 * index for index in range(30)}
    store = store_of(lengths, width=64)
    table = common(store, ["effective_rank"], ["raw"], n_tokens=30).filter(layer=0)
    measures = *measured(Spectra(store, ["raw"])), *measured(Geometry(store))
    whole = metrics_of_reviews(*measures, None, ["effective_rank"]).filter(layer=0)
    counts = list(lengths.values())
    assert stats.spearmanr(counts, whole["value"]).statistic > 0.95
    assert abs(stats.spearmanr(counts, table["value"]).statistic) < 0.5  # p .005 for 30 reviews


@pytest.mark.parametrize(("n_tokens", "metrics"), [(62, METRICS), (12, ["first_token_attention_share"])])
def test_nothing_to_compute(n_tokens, metrics):
    table = common(store_of(), metrics, n_tokens=n_tokens)
    assert dict(table.schema) == METRICS_SCHEMA
    assert table.is_empty()


def test_scripts(tmp_path):
    """From a store on the disk to the table."""
    lengths, rng = [14, 5], np.random.default_rng(0)
    spans = np.zeros((19, 2), dtype=np.int32)
    tokens = Tokens(rng.integers(0, 99, 19), spans, np.array([0, 14, 19]), np.array(lengths))
    states = torch.from_numpy(rng.normal(size=(19, WIDTH)).astype(np.float32))
    attributes = {"model": "tiny", "variant": "front", "shard": "000", "revision": None}
    path = tmp_path / "states.zarr.zip"
    shape = StoreShape(1, WIDTH, True, (None,), False, False, (0, 1))
    with written_store(path, Contents(shape, ["a", "b"], tokens, attributes, "float32"), 8) as writer:
        for layer in (0, 1):
            writer.add(Block(RESIDUAL_STREAM, layer, 0, states * (1 + layer)))
    spectra, geometry, similarity, table = (str(tmp_path / name) for name in ("s", "g", "similarity", "table"))
    chosen = {"n_tokens": 8, "draws": 2, "seed": SEED, "views": ["raw"]}
    measures = {"spectra": spectra, "geometry": geometry}
    module = "measures.common_length"
    run_script("measure", tmp_path / "log", {"states": str(path)}, measures, {"module": module, **chosen})
    found = read_table(spectra).select("model", "variant", "review_id", "draw").unique(maintain_order=True)
    assert found.rows() == [("tiny", "front", "a", 0), ("tiny", "front", "a", 1)]
    metadata = table_metadata(geometry)
    assert {key: metadata[key] for key in chosen} == chosen
    assert metadata["states"] | attributes == metadata["states"]
    write_table(pl.DataFrame({"variant": "front", "review_id": ["a", "b"], "accepted": True}), similarity)
    inputs = {"spectra": [spectra], "geometry": [geometry], "similarity": similarity}
    module = "tables.common_length"
    chosen = {"module": module, "metrics": ["stable_rank"]}
    run_script("tabulate", tmp_path / "log", inputs, {"common": table}, chosen)
    made = read_table(table)
    assert made.select("model", "variant", "review_id", "layer", "depth").rows() == [
        ("tiny", "front", "a", 0, 0.0),
        ("tiny", "front", "a", 1, 1.0),
    ]
    subsets = [states.numpy()[drawn_positions("a", 14, 8, draw, SEED)] for draw in (0, 1)]
    ranks = [np.linalg.norm(subset) ** 2 / np.linalg.norm(subset, 2) ** 2 for subset in subsets]
    assert made["value"].to_list() == pytest.approx([np.mean(ranks)] * 2, rel=1e-6)
    assert math.isfinite(made["value"][0])


def test_the_same_tokens_in_every_layer():
    """The layers differ in scale alone; so do the norms, and nothing else."""
    store = store_of(scale_of_layer={0: 1.0, 2: 8.0})
    table = common(store)
    first, second = (table.filter(layer=layer).drop("layer", "depth") for layer in (0, 2))
    assert_frame_equal(first, second, rel_tol=1e-12)


def test_more_draws_average_more():
    """One draw is one subset; the mean over many has less spread over seeds."""
    values = {
        draws: [common(store_of(), ["cosine_anisotropy"], draws=draws, seed=seed)["value"][0] for seed in range(12)]
        for draws in (1, 16)
    }
    assert np.std(values[16]) < 0.5 * np.std(values[1])


def test_undefined_values_are_nan():
    store = store_of()
    states = store.residual_stream
    store.residual_stream = lambda layer, tokens: states(layer, tokens) * 0
    table = common(store).filter(point="residual_stream")
    assert table.filter(metric="effective_rank")["value"].is_nan().all()
