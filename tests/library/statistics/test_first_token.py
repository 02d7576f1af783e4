import numpy as np
import polars as pl
import pytest

from homogenization.measures.geometry import token_geometry
from homogenization.measures.spectra import singular_values
from homogenization.statistics import first_token as module
from homogenization.statistics.correlation import SCOPES, pooled_spearmans
from homogenization.statistics.first_token import FIRST_TOKEN_SCHEMA, OUTCOME, PREDICTORS, tabulate
from homogenization.statistics.resampling import bootstrap_weights
from library.statistics.shared import by_scipy, metric_rows, of_one_pair

NORM, RATIO, SHARE, ATTENTION = PREDICTORS
DRAWS, CONFIDENCE, SEED = 200, 0.9, 3
DRAWN = {"draws": DRAWS, "confidence": CONFIDENCE, "seed": SEED}


def metrics_table(values, **more):
    """Rows of tables/metrics.parquet from {(view, metric): (reviews, layers) values}."""
    return pl.concat([metric_rows(of_metric, metric, view, **more) for (view, metric), of_metric in values.items()])


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
    return tabulate(metrics_table(values, **more), DRAWN)


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
            pearson, spearmans = SCOPES[row["scope"]]
            for name, statistic in (("pearson", pearson), ("spearman", of_one_pair(spearmans))):
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
        table = tabulate(mixed, DRAWN)
        alone = tabulate(own, DRAWN)
        assert table.filter(model="m", variant="original").equals(alone)

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
        monkeypatch.setattr(module, "RANK_DRAWS", 50)
        fewer = table_of(study())
        ranks = [name for name in full.columns if name.startswith("spearman_")]
        assert fewer.drop(ranks).equals(full.drop(ranks))
        values = study()
        pair = [values["all_tokens", NORM]], [values["raw", OUTCOME]]
        draws = pooled_spearmans(*pair, bootstrap_weights(12, DRAWS, SEED)[:50])[0, 0]
        assert fewer["spearman_low"][0] == pytest.approx(np.quantile(draws, 0.05))
