import numpy as np
import polars as pl
import pytest

from homogenization.statistics.correlation import pearson_within_layers
from homogenization.statistics.first_token import FIRST_TOKEN_SCHEMA, OUTCOME, PREDICTORS, tabulate
from homogenization.statistics.resampling import bootstrap_weights
from library.statistics.shared import metric_rows, within_layers
from measured import wide_of

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
    return tabulate(wide_of(metrics_table(values, **more)), DRAWN)


class TestTable:
    def test_schema_keys_and_counts(self):
        table = table_of(study())
        assert dict(table.schema) == FIRST_TOKEN_SCHEMA
        keys = ("model", "variant", "view", "predictor")
        assert table.select(keys).is_unique().all()
        assert len(table) == 2 * len(PREDICTORS)
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
            assert row["pearson"] == pytest.approx(within_layers(x, y), abs=1e-12)
            low, high = np.quantile(pearson_within_layers(x, y, weights), [0.05, 0.95])
            assert (row["pearson_low"], row["pearson_high"]) == pytest.approx((low, high), abs=1e-12)

    def test_order_of_rows_other_jobs_and_other_metrics_do_not_matter(self):
        own = metrics_table(study())
        more = [
            metrics_table(study(n=7, seed=1), model="other"),
            metrics_table(study(seed=2), variant="front"),
            metrics_table(study(seed=3), point="final_norm"),
            metrics_table({("unit", OUTCOME): np.ones((12, 4)), ("raw", "effective_rank"): np.ones((12, 4))}),
        ]
        mixed = pl.concat([own, *more]).sample(fraction=1, shuffle=True, seed=0)
        table = tabulate(wide_of(mixed), DRAWN)
        alone = tabulate(wide_of(own), DRAWN)
        assert table.filter(model="m", variant="original").equals(alone)

    def test_what_the_study_lacks_has_no_row(self):
        values = {key: of for key, of in study().items() if key[1] != ATTENTION and key[0] != "raw_without_first"}
        table = table_of(values)
        assert set(table["predictor"]) == {NORM, RATIO, SHARE}
        assert set(table["view"]) == {"raw"}
        assert table_of({key: of for key, of in study().items() if key[1] != OUTCOME}).is_empty()
