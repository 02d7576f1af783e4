import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy import stats

from homogenization.statistics.depth import DEPTH_SCHEMA, depth_table
from homogenization.statistics.resampling import Resampling, bootstrap_weights, mean_interval
from library.statistics.shared import MARGIN, metric_rows

RISING, FALLING, NEITHER = "cosine_anisotropy", "normalized_effective_rank", "cosine_dispersion"
DRAWS, CONFIDENCE, SEED = 300, 0.9, 5


def metrics_table(values, metric=RISING, view="all_tokens", **more):
    return metric_rows(values, metric, view, **more)


def walks(n, n_layers, seed=0):
    return np.random.default_rng(seed).standard_normal((n, n_layers)).cumsum(axis=1)


def table_of(metrics, names=(RISING, FALLING, NEITHER)):
    return depth_table(metrics, names, Resampling(DRAWS, CONFIDENCE, SEED, MARGIN))


def row_of(table, statistic):
    return table.filter(pl.col("statistic") == statistic).row(0, named=True)


class TestTable:
    def test_schema_keys_and_statistics(self):
        metrics = pl.concat([metrics_table(walks(6, 5), metric, model=m) for metric in (RISING, FALLING) for m in "ba"])
        table = table_of(metrics)
        assert dict(table.schema) == DEPTH_SCHEMA
        keys = ["model", "variant", "view", "metric"]
        assert table.select(keys).unique(maintain_order=True).equals(table.select(keys).unique().sort(keys))
        of_one = table.filter(model="a", metric=RISING)
        rates = ["rate_first", "rate_middle", "rate_last"]
        steps = ["step_001", "step_002", "step_003", "step_004"]
        assert of_one["statistic"].to_list() == [
            "slope",
            "net_change",
            "net_change_after_first",
            *rates,
            "steepest",
            *steps,
        ]
        assert (table["n_reviews"] == 6).all()

    def test_estimates_and_intervals(self):
        values = walks(30, 9) + np.linspace(0, 9, 9)
        table = table_of(metrics_table(values))
        depth = np.arange(9) / 8
        expected = {
            "slope": np.array([stats.linregress(depth, row).slope for row in values]),
            "net_change": values[:, 8] - values[:, 0],
            "net_change_after_first": values[:, 8] - values[:, 1],
            "rate_first": (values[:, 2] - values[:, 0]) / 0.25,
            "rate_middle": (values[:, 6] - values[:, 2]) / 0.5,
            "rate_last": (values[:, 8] - values[:, 6]) / 0.25,
            "step_003": (values[:, 3] - values[:, 2]) * 8,
        }
        for statistic, by_review in expected.items():
            row = row_of(table, statistic)
            low, high = mean_interval(by_review[:, None], CONFIDENCE)
            found = (row["estimate"], row["ci_low"], row["ci_high"])
            assert found == pytest.approx((by_review.mean(), low[0], high[0]), rel=1e-9)

    @pytest.mark.parametrize(("metric", "sign"), [(RISING, 1), (FALLING, -1), (NEITHER, 0)])
    def test_steepest_by_its_definition(self, metric, sign):
        values = walks(25, 7, seed=3)
        row = row_of(table_of(metrics_table(values, metric)), "steepest")

        def found(weights):
            rates = np.diff(np.average(values, axis=0, weights=weights)) * 6
            return int(np.argmax(sign * rates if sign else np.abs(rates)))

        draws = sorted(found(weights) for weights in bootstrap_weights(25, DRAWS, SEED))
        assert row["estimate"] == pytest.approx((found(np.ones(25)) + 0.5) / 6)
        assert len(set(draws)) > 2  # the case is not a trivial one
        # from the start of the first step to the end of the last, without a twentieth of the draws on either side
        outside = (1 - CONFIDENCE) / 2 * (DRAWS - 1)
        low, high = draws[int(np.floor(outside))], draws[int(np.ceil(DRAWS - 1 - outside))]
        assert (row["ci_low"], row["ci_high"]) == pytest.approx((low / 6, (high + 1) / 6))

    def test_rows_models_and_variants_do_not_touch_each_other(self):
        mine = pl.concat([metrics_table(walks(12, 5), RISING), metrics_table(walks(12, 5, 1), FALLING)])
        others = [metrics_table(walks(9, 4, 2), model="other"), metrics_table(walks(7, 5, 3), variant="front")]
        everything = pl.concat([mine, *others]).sample(fraction=1, shuffle=True, seed=1)
        own = table_of(everything).filter(model="m", variant="original")
        assert own.equals(table_of(mine))
        # sums of matrices of another width may round differently
        assert_frame_equal(table_of(mine, [FALLING]), table_of(mine).filter(metric=FALLING), rel_tol=1e-12)

    def test_the_state_after_the_final_norm_is_no_layer(self):
        metrics = metrics_table(walks(12, 5))
        after = metrics.filter(pl.col("layer") == 4).with_columns(
            pl.lit("final_norm").alias("point"), pl.col("value") + 100
        )
        assert table_of(pl.concat([metrics, after])).equals(table_of(metrics))

    def test_a_block_alone_and_a_metric_without_a_value_before_it(self):
        of_one_block = table_of(metrics_table(np.array([[1, 3.0], [2, 5.0]])))
        assert row_of(of_one_block, "net_change")["estimate"] == 2.5
        assert row_of(of_one_block, "net_change_after_first")["n_reviews"] == 0  # the output is that layer
        attention = metrics_table(np.array([[7, 1, 3.0], [7, 2, 6.0]])).filter(pl.col("layer") > 0)
        assert row_of(table_of(attention), "net_change")["n_reviews"] == 0
        assert row_of(table_of(attention), "net_change_after_first")["estimate"] == 3

    def test_one_review_has_estimates_and_no_intervals(self):
        table = table_of(metrics_table(np.array([[0, 1, 3.0]])))
        row = row_of(table, "slope")
        assert (row["n_reviews"], row["estimate"]) == (1, 3)
        assert np.isnan([row["ci_low"], row["ci_high"]]).all()

    def test_one_layer_has_no_change(self):
        metrics = metrics_table(walks(6, 5)).filter(pl.col("layer") == 4)
        table = table_of(metrics)
        named = ["slope", "net_change", "net_change_after_first", "rate_first", "rate_middle", "rate_last", "steepest"]
        assert table["statistic"].to_list() == named
        assert table["estimate"].is_nan().all()
        assert (table["n_reviews"] == 0).all()

    def test_no_such_metric_is_an_empty_table(self):
        table = table_of(metrics_table(walks(6, 5)), ["effective_rank"])
        assert table.is_empty()
        assert dict(table.schema) == DEPTH_SCHEMA
