import math

import numpy as np
import polars as pl
import pytest
from scipy import stats

from homogenization.measures.attention import ATTENTION_SCHEMA, attention_profile
from homogenization.measures.geometry import GEOMETRY_SCHEMA, token_geometry
from homogenization.measures.spectra import SPECTRA_SCHEMA, singular_values
from homogenization.metrics.geometry import ATTENTION_METRICS, GEOMETRY_METRICS
from homogenization.metrics.spectral import SPECTRAL_METRICS
from homogenization.run.errors import HomogenizationError
from homogenization.tables.extraction import EXTRACTION_SCHEMA, extraction_table
from homogenization.tables.mauve import MAUVE_SUMMARY_SCHEMA, mauve_summary
from homogenization.tables.metrics import METRICS_SCHEMA, metrics_of_job, summary_table
from homogenization.tables.over_reviews import keep_analysed, summarise, t_factor, with_depth
from homogenization.tables.profiles import (
    ATTENTION_PROFILE_SCHEMA,
    COSINES_SCHEMA,
    attention_profiles,
    cosine_densities,
)
from homogenization.tables.similarity import SIMILARITY_SCHEMA, similarity_table

REVIEWS = ("a", "b", "c")
NO_SIMILARITY = pl.DataFrame(schema=SIMILARITY_SCHEMA)


def scores(variant, f1, reviews=REVIEWS, **more):
    return pl.DataFrame({"variant": variant, "review_id": reviews, "precision": f1, "recall": f1, "f1": f1, **more})


RANDOM = scores("random_pairs", [0.3, 0.4, 0.5], other_review_id=["b", "c", "a"])


def states(review, layer):
    n = {"a": 6, "b": 9, "c": 5}[review]
    return np.random.default_rng([ord(review), layer]).standard_normal((n, 7))


def spectra_of(reviews=REVIEWS, views=("raw", "unit_without_first")):
    rows = []
    for point, layer in (("residual_stream", 0), ("residual_stream", 2), ("final_norm", 2)):
        for review in reviews:
            tokens = states(review, layer)
            for view, values in singular_values(tokens, views).items():
                rows.append((review, point, layer, view, *tokens.shape, values.tolist()))
    return pl.DataFrame(rows, schema=SPECTRA_SCHEMA, orient="row")


def geometry_of(reviews=REVIEWS):
    rows = []
    for point, layer in (("residual_stream", 0), ("residual_stream", 2), ("final_norm", 2)):
        for review in reviews:
            tokens = states(review, layer)
            keys = {"review_id": review, "point": point, "layer": layer, "n_tokens": len(tokens), "width": 7}
            rows.append({**keys, **token_geometry(tokens)})
    return pl.DataFrame(rows, schema=GEOMETRY_SCHEMA)


def attention_of(reviews=REVIEWS, n_bins=4):
    rows = []
    for layer in (1, 2):
        for review in reviews:
            n = len(states(review, 0))
            received = np.random.default_rng([ord(review), layer]).dirichlet(np.ones(n)) * n
            profile = vars(attention_profile(received, causal=True, n_bins=n_bins))
            rows.append({"review_id": review, "layer": layer, "n_tokens": n, **profile})
    return pl.DataFrame(rows, schema=ATTENTION_SCHEMA)


def test_keep_analysed_keeps_the_order():
    similarity = similarity_table([scores("front", [0.9, 0.1, 0.9])], [RANDOM], threshold=0.8, n_reviews=3)
    table = pl.DataFrame({"review_id": ["c", "b", "a", "c"], "x": [1, 2, 3, 4]})
    assert keep_analysed(table, similarity)["x"].to_list() == [1, 3, 4]


def test_depth():
    table = with_depth(pl.DataFrame({"layer": [0, 3, 6], "x": [1, 2, 3]}), 6)
    assert table.columns == ["layer", "depth", "x"]
    assert table["depth"].to_list() == [0, 0.5, 1]


class TestSummary:
    def test_interval_is_that_of_scipy(self):
        values = np.random.default_rng(0).standard_normal(12)
        table = pl.DataFrame({"group": ["g"] * 12, "value": values})
        row = summarise(table, ["group"], "value").row(0, named=True)
        low, high = stats.t.interval(0.95, 11, loc=values.mean(), scale=stats.sem(values))
        assert (row["ci_low"], row["ci_high"]) == (pytest.approx(low), pytest.approx(high))
        assert row["median"] == pytest.approx(np.median(values))
        assert row["std"] == pytest.approx(values.std(ddof=1))

    def test_missing_values_are_left_out(self):
        table = pl.DataFrame({"group": ["g", "g", "g", "h"], "value": [1.0, math.nan, 3.0, math.nan]})
        first, second = summarise(table, ["group"], "value").iter_rows(named=True)
        assert (first["n_reviews"], first["mean"]) == (2, 2.0)
        assert second["n_reviews"] == 0
        assert math.isnan(second["mean"])
        assert math.isnan(second["ci_low"])

    def test_one_value_has_no_interval(self):
        assert np.isnan(t_factor([0, 1])).all()
        assert t_factor([2])[0] == pytest.approx(stats.t.ppf(0.975, 1) / math.sqrt(2))


class TestMetrics:
    everything = (*SPECTRAL_METRICS, *GEOMETRY_METRICS, *ATTENTION_METRICS)

    def table(self, metrics=everything, similarity=NO_SIMILARITY, attention=True):
        found = attention_of() if attention else None
        return metrics_of_job("m", "front", 2, spectra_of(), geometry_of(), found, similarity, metrics)

    def test_schema_keys_and_counts(self):
        table = self.table()
        assert dict(table.schema) == METRICS_SCHEMA
        keys = ["model", "variant", "review_id", "point", "layer", "view", "metric"]
        assert table.select(keys).is_unique().all()
        assert set(table["metric"]) == set(self.everything)
        cells = 3 * 3  # reviews, points and layers
        geometry_columns = sum(len(metric.views) for metric in GEOMETRY_METRICS.values())
        attention_columns = sum(len(metric.views) for metric in ATTENTION_METRICS.values())
        assert len(table) == cells * (2 * len(SPECTRAL_METRICS) + geometry_columns) + 3 * 2 * attention_columns
        assert dict(table.select("layer", "depth").unique().rows()) == {0: 0.0, 1: 0.5, 2: 1.0}
        assert table["value"].is_finite().all()

    def test_values(self):
        table = self.table()

        def value(metric, view, review="b", layer=2):
            chosen = table.filter(
                pl.col("point") == "residual_stream", metric=metric, view=view, review_id=review, layer=layer
            )
            return chosen["value"].item()

        tokens = states("b", 2)
        singular = np.linalg.svd(tokens, compute_uv=False)
        assert value("effective_rank", "raw") == pytest.approx(np.exp(stats.entropy(singular)))
        assert value("normalized_effective_rank", "raw") == pytest.approx(value("effective_rank", "raw") / 7)
        rest = tokens[1:] / np.linalg.norm(tokens[1:], axis=1)[:, None]
        assert value("resultant_length", "without_first") == pytest.approx(np.linalg.norm(rest.mean(axis=0)))
        received = np.random.default_rng([ord("b"), 2]).dirichlet(np.ones(9)) * 9
        assert value("first_token_attention_share", "all_tokens") == pytest.approx(received[0] / 9)

    def test_only_analysed_reviews_and_chosen_metrics(self):
        similarity = similarity_table([scores("front", [0.9, 0.1, 0.9])], [RANDOM], threshold=0.8, n_reviews=3)
        table = self.table(["stable_rank", "first_token_norm"], similarity)
        assert set(table["review_id"]) == {"a", "c"}
        assert set(table["metric"]) == {"stable_rank", "first_token_norm"}

    def test_without_attention(self):
        assert not set(self.table(attention=False)["metric"]) & set(ATTENTION_METRICS)

    def test_one_token_review_is_nan_not_an_error(self):
        tokens = np.ones((1, 7))
        rows = [("a", "residual_stream", 1, view, 1, 7, v.tolist()) for view, v in _all_views(tokens).items()]
        spectra = pl.DataFrame(rows, schema=SPECTRA_SCHEMA, orient="row")
        keys = {"review_id": "a", "point": "residual_stream", "layer": 1, "n_tokens": 1, "width": 7}
        geometry = pl.DataFrame([{**keys, **token_geometry(tokens)}], schema=GEOMETRY_SCHEMA)
        table = metrics_of_job("m", "original", 1, spectra, geometry, None, NO_SIMILARITY, self.everything)
        values = {(row["view"], row["metric"]): row["value"] for row in table.to_dicts()}
        assert values["raw", "effective_rank"] == 1
        assert math.isnan(values["raw_without_first", "effective_rank"])
        assert math.isnan(values["without_first", "cosine_anisotropy"])

    def test_depth_is_that_of_the_model_where_its_last_layer_is_not_stored(self):
        spectra, geometry = (table.filter(pl.col("layer") < 2) for table in (spectra_of(), geometry_of()))
        table = metrics_of_job("m", "front", 2, spectra, geometry, attention_of(), NO_SIMILARITY, self.everything)
        assert dict(table.select("layer", "depth").unique().rows()) == {0: 0.0, 1: 0.5, 2: 1.0}
        densities = cosine_densities([("m", "front", 4, geometry_of())], NO_SIMILARITY)
        assert dict(densities.select("layer", "depth").unique().rows()) == {0: 0.0, 2: 0.5}

    def test_summary(self):
        metrics = self.table(["stable_rank"])
        summary = summary_table(pl.concat([metrics, metrics.with_columns(pl.lit("end").alias("variant"))]))
        keys = ["model", "variant", "point", "layer", "depth", "view", "metric"]
        assert summary.columns == [*keys, "n_reviews", "mean", "std", "median", "ci_low", "ci_high"]
        assert len(summary) == 2 * 3 * 2
        assert summary["variant"].is_sorted()
        chosen = {"variant": "front", "point": "final_norm", "view": "raw"}
        row = summary.filter(**chosen).row(0, named=True)
        values = metrics.filter(**chosen)["value"]
        assert (row["n_reviews"], row["mean"]) == (3, pytest.approx(values.mean()))


def _all_views(tokens):
    return singular_values(tokens, ("raw", "raw_without_first"))


def test_mauve_summary():
    def shard(values):
        return pl.DataFrame(
            {"layer_from": [0, 0], "layer_to": [1, 1], "kind": ["consecutive"] * 2, "seed": [0, 1], "mauve": values}
        )

    table = mauve_summary([("m", "front", 2, shard([0.2, 0.4])), ("m", "front", 2, shard([0.6, 0.8]))])
    assert dict(table.schema) == MAUVE_SUMMARY_SCHEMA
    assert table.rows() == [("m", "front", 0, 1, 0.5, "consecutive", pytest.approx(0.5), 0.2, 0.8, 4)]


class TestProfiles:
    def test_attention(self):
        shards = [("m", "front", attention_of(("a", "b"))), ("m", "front", attention_of(("c",)))]
        similarity = similarity_table([scores("front", [0.9, 0.9, 0.1])], [RANDOM], threshold=0.8, n_reviews=3)
        table = attention_profiles(shards, similarity)
        assert dict(table.schema) == ATTENTION_PROFILE_SCHEMA
        assert len(table) == 2 * 4
        assert table["relative_position"].to_list()[:4] == [0.125, 0.375, 0.625, 0.875]
        assert table["depth"].to_list() == [0.5] * 4 + [1.0] * 4
        first = np.array([row[0] for row in attention_of(("a", "b")).filter(layer=1)["received"]])
        row = table.row(0, named=True)
        assert row["n_reviews"] == np.isfinite(first).sum()
        assert row["received"] == pytest.approx(np.nanmean(first))
        assert row["ci_low"] < row["received"] < row["ci_high"]

    def test_empty_bins_leave_a_review_out(self):
        table = attention_profiles([("m", "front", attention_of(("c",), n_bins=20))], NO_SIMILARITY)
        counts = dict(table.filter(layer=1).select("bin", "n_reviews").rows())
        assert [bin_ for bin_, count in counts.items() if count] == [5, 10, 15, 19]

    def test_cosines_integrate_to_one(self):
        similarity = similarity_table([scores("front", [0.9, 0.9, 0.1])], [RANDOM], threshold=0.8, n_reviews=3)
        shards = [("m", "front", 2, geometry_of(("a",))), ("m", "front", 2, geometry_of(("b", "c")))]
        table = cosine_densities(shards, similarity)
        assert dict(table.schema) == COSINES_SCHEMA
        width = pl.col("bin_right") - pl.col("bin_left")
        integrals = table.group_by("point", "layer", "tokens").agg((pl.col("density") * width).sum().alias("integral"))
        assert len(integrals) == 3 * 2
        np.testing.assert_allclose(integrals["integral"], 1, rtol=1e-12)
        assert (table["bin_left"].min(), table["bin_right"].max()) == (-1, 1)
        chosen = table.filter(point="residual_stream", layer=2, tokens="without_first")
        histograms = geometry_of(("a", "b")).filter(point="residual_stream", layer=2)["cosine_histogram_without_first"]
        densities = [np.array(counts) / sum(counts) / 0.05 for counts in histograms]
        np.testing.assert_allclose(chosen["density"], np.mean(densities, axis=0), rtol=1e-12)


def test_extraction():
    record = {name: 1 for name, dtype in EXTRACTION_SCHEMA.items() if dtype != pl.String}
    record |= {"device": "cpu", "dtype": "float32", "weights_digest": "abc", "more": 3}
    table = extraction_table([("m", "front", "000", record)])
    assert dict(table.schema) == EXTRACTION_SCHEMA
    assert table.row(0, named=True)["n_tokens"] == 1
    assert table.row(0)[:3] == ("m", "front", "000")


def test_a_model_whose_weights_changed_between_its_jobs_is_refused():
    runs = [("m", "front", "000", {"weights_digest": "a" * 64}), ("m", "front", "001", {"weights_digest": "b" * 64})]
    extraction_table([runs[0], ("other", "front", "000", {"weights_digest": "b" * 64})])
    with pytest.raises(HomogenizationError, match=r"models.m: .*front/000 read a{12}; front/001 read b{12}"):
        extraction_table(runs)
