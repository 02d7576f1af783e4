import importlib.util
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import stats

from homogenization.measures.geometry import token_geometry
from homogenization.measures.spectra import singular_values
from homogenization.run.parquet import read_table, table_metadata, write_table
from homogenization.statistics import first_token as tables_first_token
from homogenization.statistics.depth import uniform_weights
from homogenization.statistics.first_token import (
    FIRST_TOKEN_SCHEMA,
    OUTCOME,
    PREDICTORS,
    SCOPES,
    first_token_table,
    pearson_within_layers,
    pearson_within_reviews,
    pooled_pearson,
    pooled_spearman,
    spearman_within_layers,
    spearman_within_reviews,
)
from homogenization.statistics.resampling import bootstrap_weights
from homogenization.tables.metrics import METRICS_SCHEMA

ROOT = Path(__file__).parents[3]
STATISTICS = [statistic for pair in SCOPES.values() for statistic in pair]
WITHIN_LAYERS = (pearson_within_layers, spearman_within_layers)
WITHIN_REVIEWS = (pearson_within_reviews, spearman_within_reviews)
NORM, RATIO, SHARE, ATTENTION = PREDICTORS
DRAWS, CONFIDENCE, SEED = 200, 0.9, 3


def pairs(n=15, layers=6, seed=0):
    """(n, layers) values x and y that share a part, with ties and gaps."""
    generator = np.random.default_rng(seed)
    x = generator.standard_normal((n, layers)).round(1)
    y = (x + generator.standard_normal((n, layers)) + np.arange(layers)).round(1)
    x[generator.random(x.shape) < 0.1] = np.nan
    y[generator.random(x.shape) < 0.1] = np.nan
    return x, y


def by_scipy(statistic, x, y):
    """The statistic of the sample, one correlation of scipy at a time."""
    correlate = stats.spearmanr if "spearman" in statistic.__name__ else stats.pearsonr

    def of(x, y):
        there = ~np.isnan(x + y)
        return correlate(x[there], y[there]).statistic

    if statistic in WITHIN_LAYERS:
        return np.mean([of(x[:, layer], y[:, layer]) for layer in range(x.shape[1])])
    if statistic in WITHIN_REVIEWS:
        return np.mean([of(x[review], y[review]) for review in range(len(x))])
    return of(x, y)


def metrics_table(values, model="m", variant="original", point="residual_stream"):
    """Rows of tables/metrics.parquet from {(view, metric): (reviews, layers) values}."""
    parts = []
    for (view, metric), of_metric in values.items():
        review, layer = (index.ravel() for index in np.indices(of_metric.shape))
        columns = {
            "model": model,
            "variant": variant,
            "review_id": [f"r{number:03d}" for number in review],
            "point": point,
            "layer": layer,
            "depth": layer / (of_metric.shape[1] - 1),
            "view": view,
            "metric": metric,
            "value": of_metric.ravel(),
        }
        parts.append(pl.DataFrame(columns, schema=METRICS_SCHEMA))
    return pl.concat(parts)


def study(n=12, layers=4, seed=0):
    """Outcome and predictors of random numbers; attention begins after the first block."""
    generator = np.random.default_rng(seed)
    x = generator.random((n, layers)) + 0.1
    values = {("raw", OUTCOME): x, ("raw_without_first", OUTCOME): generator.random((n, layers))}
    for predictor in PREDICTORS:
        values["all_tokens", predictor] = x * generator.random((n, layers))
    values["all_tokens", ATTENTION][:, 0] = np.nan
    return values


def table_of(values, **more):
    return first_token_table(metrics_table(values, **more), DRAWS, CONFIDENCE, SEED)


@pytest.mark.parametrize("statistic", STATISTICS, ids=lambda statistic: statistic.__name__)
class TestStatistics:
    def test_of_the_sample_is_that_of_scipy(self, statistic):
        x, y = pairs()
        assert statistic(x, y, uniform_weights(len(x)))[0] == pytest.approx(by_scipy(statistic, x, y), abs=1e-12)

    def test_of_a_draw_is_that_of_the_reviews_drawn(self, statistic):
        """A weight of 2/n is the review twice: ranks and ties are those of the repeated values."""
        x, y = pairs()
        weights = bootstrap_weights(len(x), 20, seed=1)
        found = statistic(x, y, weights)
        for draw, own in zip(weights, found, strict=True):
            drawn = np.repeat(np.arange(len(x)), np.rint(draw * len(x)).astype(int))
            assert own == pytest.approx(by_scipy(statistic, x[drawn], y[drawn]), abs=1e-12)

    def test_is_symmetric_and_turns_with_the_sign(self, statistic):
        x, y = pairs()
        weights = bootstrap_weights(len(x), 20, seed=2)
        np.testing.assert_allclose(statistic(y, x, weights), statistic(x, y, weights), atol=1e-12)
        np.testing.assert_allclose(statistic(-x, y, weights), -statistic(x, y, weights), atol=1e-12)

    def test_ignores_scale_and_offset(self, statistic):
        x, y = pairs()
        weights = bootstrap_weights(len(x), 20, seed=2)
        moved = statistic(1000 + 1e-1 * x, 1e8 * y, weights)
        np.testing.assert_allclose(moved, statistic(x, y, weights), atol=1e-8)

    def test_of_what_is_the_same_everywhere_is_nan(self, statistic):
        x, y = pairs()
        rounding = 3 + 1e-8 * np.random.default_rng(0).standard_normal(x.shape)
        for constant in (np.full_like(x, 3.0), rounding, np.zeros_like(x), np.full_like(x, np.nan)):
            for arguments in ((constant, y), (y, constant)):
                assert np.isnan(statistic(*arguments, bootstrap_weights(len(x), 5, seed=0))).all()

    def test_does_not_depend_on_how_many_draws_are_taken_at_once(self, statistic, monkeypatch):
        x, y = pairs()
        weights = bootstrap_weights(len(x), 50, seed=2)
        at_once = statistic(x, y, weights)
        monkeypatch.setattr(tables_first_token, "_NUMBERS_AT_ONCE", 7 * x.size)
        np.testing.assert_array_equal(statistic(x, y, weights), at_once)

    def test_leaves_its_arguments_as_they_are(self, statistic):
        x, y = pairs()
        before = x.copy(), y.copy()
        statistic(x, y, uniform_weights(len(x)))
        np.testing.assert_array_equal((x, y), before)


@pytest.mark.parametrize("of_ranks", [False, True])
def test_the_scopes_tell_apart_what_pooling_mixes(of_ranks):
    """Over layers both rise; over reviews of a layer one falls as the other rises."""
    generator = np.random.default_rng(0)
    review, layer = np.indices((40, 8))
    x = 10 * layer + review / 40 + 0.01 * generator.standard_normal(review.shape)
    y = 10 * layer - review / 40 + 0.01 * generator.standard_normal(review.shape)
    found = {scope: pair[of_ranks](x, y, uniform_weights(40))[0] for scope, pair in SCOPES.items()}
    assert found["reviews_and_layers"] > 0.9
    assert found["layers"] > 0.9
    assert found["reviews"] < -0.9


@pytest.mark.parametrize("statistic", WITHIN_LAYERS)
def test_a_layer_without_variation_does_not_count(statistic):
    """The first token after BOS has the same norm in every review: only other layers can correlate."""
    x, y = pairs()
    with_constant = np.column_stack([np.full(len(x), 2.0), x]), np.column_stack([y[:, 0], y])
    weights = bootstrap_weights(len(x), 20, seed=0)
    np.testing.assert_array_equal(statistic(*with_constant, weights), statistic(x, y, weights))


@pytest.mark.parametrize("statistic", WITHIN_REVIEWS)
def test_a_review_without_variation_does_not_count(statistic):
    x, y = pairs()
    more = np.vstack([x, np.full(x.shape[1], 2.0)]), np.vstack([y, y[:1]])
    assert statistic(*more, uniform_weights(len(x) + 1))[0] == pytest.approx(by_scipy(statistic, x, y), abs=1e-12)


@pytest.mark.parametrize("statistic", [pooled_spearman, spearman_within_layers, spearman_within_reviews])
def test_ranks_ignore_a_monotone_scale(statistic):
    x, y = pairs()
    weights = bootstrap_weights(len(x), 20, seed=2)
    np.testing.assert_allclose(statistic(np.exp(3 * x), y**3, weights), statistic(x, y, weights), atol=1e-12)


def test_intervals_cover_the_correlation_of_reviews_that_hang_together():
    """Layers of a review are alike, so that treating them as independent would give intervals far too short."""
    n, layers, trials, correlation = 60, 8, 300, 0.6
    covered = {True: 0, False: 0}
    for trial in range(trials):
        generator = np.random.default_rng(trial)
        review = generator.multivariate_normal([0, 0], [[1, correlation], [correlation, 1]], size=n)
        noise = 0.05 * generator.standard_normal((2, n, layers))
        x, y = (review[:, [side]] + noise[side] for side in (0, 1))
        drawn = bootstrap_weights(n, 400, trial)
        alone = bootstrap_weights(n * layers, 400, trial)
        for by_review, draws in (
            (True, pooled_pearson(x, y, drawn)),
            (False, pooled_pearson(x.reshape(-1, 1), y.reshape(-1, 1), alone)),
        ):
            low, high = np.quantile(draws, [0.025, 0.975])
            covered[by_review] += low <= correlation / (1 + 0.05**2) <= high
    # four standard errors of 300 trials at .95 are .05; the percentile interval itself is a little short
    assert 0.89 < covered[True] / trials <= 1
    assert covered[False] / trials < 0.7


class TestTable:
    def test_schema_keys_and_counts(self):
        table = table_of(study())
        assert dict(table.schema) == FIRST_TOKEN_SCHEMA
        keys = ("model", "variant", "view", "predictor", "scope")
        assert table.select(keys).is_unique().all()
        assert len(table) == 2 * len(PREDICTORS) * len(SCOPES)
        assert (table["n_reviews"] == 12).all()
        counts = dict(table.select("predictor", "n_values").unique().rows())
        assert counts == {NORM: 48, RATIO: 48, SHARE: 48, ATTENTION: 36}

    def test_estimates_and_intervals(self):
        values = study()
        table = table_of(values)
        weights = bootstrap_weights(12, DRAWS, SEED)
        for row in table.iter_rows(named=True):
            first = int(row["predictor"] == ATTENTION)  # layer that has values
            x, y = values["all_tokens", row["predictor"]][:, first:], values[row["view"], OUTCOME][:, first:]
            for name, statistic in zip(("pearson", "spearman"), SCOPES[row["scope"]], strict=True):
                assert row[name] == pytest.approx(by_scipy(statistic, x, y), abs=1e-12)
                low, high = np.quantile(statistic(x, y, weights), [0.05, 0.95])
                assert (row[f"{name}_low"], row[f"{name}_high"]) == pytest.approx((low, high), abs=1e-12)

    def test_the_bound_holds_for_real_matrices_and_is_tight_for_a_massive_token(self):
        generator = np.random.default_rng(0)
        scales = [1, 3, 10, 100]
        share, variance = np.empty((6, 4)), np.empty((6, 4))
        for review in range(6):
            for layer, scale in enumerate(scales):
                tokens = generator.standard_normal((20, 30))
                tokens[0] *= scale
                share[review, layer] = token_geometry(tokens)["squared_norm_share_first"]
                singular = singular_values(tokens, ["raw"])["raw"]
                variance[review, layer] = singular[0] ** 2 / (singular**2).sum()
        table = table_of({("raw", OUTCOME): variance, ("all_tokens", SHARE): share})
        assert (table["bound_holds"] == 1).all()
        assert table["bound_tightness"].to_numpy() == pytest.approx((share / variance).mean())
        last = table_of({("raw", OUTCOME): variance[:, 2:], ("all_tokens", SHARE): share[:, 2:]})
        assert last["bound_tightness"][0] > 0.95 > table["bound_tightness"][0]

    def test_a_bound_that_fails_is_seen(self):
        values = study()
        values["all_tokens", SHARE] = values["raw", OUTCOME] * np.where(np.arange(4) == 1, 1.01, 1.0)
        raw, without_first = table_of(values).partition_by("view")
        assert raw["bound_holds"].unique().to_list() == [0.75]
        assert raw["bound_tightness"].to_numpy() == pytest.approx(1 + 0.01 / 4)
        assert without_first["bound_holds"].is_nan().all()
        assert without_first["bound_tightness"].is_nan().all()

    def test_rounding_breaks_no_bound(self):
        values = study()
        values["all_tokens", SHARE] = values["raw", OUTCOME] * (1 + 1e-12)
        assert table_of(values)["bound_holds"][0] == 1

    def test_order_of_rows_other_jobs_and_other_metrics_do_not_matter(self):
        own = metrics_table(study())
        more = [
            metrics_table(study(n=7, seed=1), model="other"),
            metrics_table(study(seed=2), variant="front"),
            metrics_table(study(seed=3), point="final_norm"),
            metrics_table({("unit", OUTCOME): np.ones((12, 4)), ("raw", "effective_rank"): np.ones((12, 4))}),
        ]
        mixed = pl.concat([own, *more]).sample(fraction=1, shuffle=True, seed=0)
        table = first_token_table(mixed, DRAWS, CONFIDENCE, SEED)
        assert table.filter(model="m", variant="original").equals(first_token_table(own, DRAWS, CONFIDENCE, SEED))

    def test_what_the_study_lacks_has_no_row(self):
        values = {key: of for key, of in study().items() if key[1] != ATTENTION and key[0] != "raw_without_first"}
        table = table_of(values)
        assert set(table["predictor"]) == {NORM, RATIO, SHARE}
        assert set(table["view"]) == {"raw"}
        assert table_of({key: of for key, of in study().items() if key[1] != OUTCOME}).is_empty()
        without_share = table_of({key: of for key, of in study().items() if key[1] != SHARE})
        assert without_share["bound_holds"].is_nan().all()

    def test_rank_correlations_stop_at_enough_draws(self, monkeypatch):
        full = table_of(study())
        monkeypatch.setattr(tables_first_token, "_RANK_DRAWS", 50)
        fewer = table_of(study())
        ranks = [name for name in full.columns if name.startswith("spearman_")]
        assert fewer.drop(ranks).equals(full.drop(ranks))
        values = study()
        draws = pooled_spearman(
            values["all_tokens", NORM], values["raw", OUTCOME], bootstrap_weights(12, DRAWS, SEED)[:50]
        )
        assert fewer["spearman_low"][0] == pytest.approx(np.quantile(draws, 0.05))


def test_the_script_writes_the_table(tmp_path):
    path = ROOT / "workflow" / "scripts" / "correlate_first_token.py"
    spec = importlib.util.spec_from_file_location("correlate_first_token", path)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    metrics = metrics_table(study())
    write_table(metrics, tmp_path / "metrics.parquet")
    written = tmp_path / "first_token.parquet"
    script.main(str(tmp_path / "metrics.parquet"), str(written), DRAWS, CONFIDENCE, SEED)
    assert read_table(written).equals(first_token_table(metrics, DRAWS, CONFIDENCE, SEED))
    assert table_metadata(written) == {"draws": DRAWS, "confidence": CONFIDENCE, "seed": SEED}
