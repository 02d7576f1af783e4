import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy import stats

from homogenization.statistics.depth import DEPTH_SCHEMA, tabulate
from homogenization.statistics.layers import (
    layer_steps,
    layer_values,
    slopes,
    steepest_span,
    yardsticks_of,
)
from homogenization.statistics.resampling import bootstrap_weights, mean_interval, uniform_weights
from library.statistics.shared import MARGIN, metric_rows
from measured import wide_of

RISING, FALLING, NEITHER = "cosine_anisotropy", "normalized_effective_rank", "cosine_dispersion"
DRAWS, CONFIDENCE, SEED = 300, 0.9, 5


def metrics_table(values, metric=RISING, view="all_tokens", **more):
    return metric_rows(values, metric, view, **more)


def walks(n, n_layers, seed=0):
    return np.random.default_rng(seed).standard_normal((n, n_layers)).cumsum(axis=1)


def table_of(metrics, names=(RISING, FALLING, NEITHER)):
    return tabulate(
        wide_of(metrics), None, names, {"draws": DRAWS, "confidence": CONFIDENCE, "seed": SEED, "margin": MARGIN}
    )


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
        assert of_one["statistic"].to_list() == ["slope", "net_change", "net_change_after_first", "steepest"]
        assert (table["n_reviews"] == 6).all()

    def test_estimates_and_intervals(self):
        values = walks(30, 9) + np.linspace(0, 9, 9)
        table = table_of(metrics_table(values))
        depth = np.arange(9) / 8
        expected = {
            "slope": np.array([stats.linregress(depth, row).slope for row in values]),
            "net_change": values[:, 8] - values[:, 0],
            "net_change_after_first": values[:, 8] - values[:, 1],
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

    def test_a_metric_that_begins_after_the_first_block(self):
        # as attention: no value at layer 0, beside a metric that has one
        values = walks(10, 5)
        attention = metrics_table(values, "first_token_attention_share").filter(pl.col("layer") > 0)
        both = pl.concat([attention, metrics_table(walks(10, 5))])
        table = table_of(both, [RISING, "first_token_attention_share"]).filter(metric="first_token_attention_share")
        first = row_of(table, "net_change")
        assert first["n_reviews"] == 0
        assert np.isnan([first["estimate"], first["ci_low"], first["ci_high"]]).all()
        expected = np.mean([stats.linregress([0.25, 0.5, 0.75, 1], row[1:]).slope for row in values])
        assert row_of(table, "slope")["estimate"] == pytest.approx(expected)

    def test_a_block_alone_and_a_metric_without_a_value_before_it(self):
        of_one_block = table_of(metrics_table(np.array([[1, 3.0], [2, 5.0]])))
        assert row_of(of_one_block, "net_change")["estimate"] == 2.5
        assert row_of(of_one_block, "net_change_after_first")["n_reviews"] == 0  # the output is that layer
        attention = metrics_table(np.array([[7, 1, 3.0], [7, 2, 6.0]])).filter(pl.col("layer") > 0)
        assert row_of(table_of(attention), "net_change")["n_reviews"] == 0
        assert row_of(table_of(attention), "net_change_after_first")["estimate"] == 3

    def test_a_collapse_in_the_first_block_turns_the_slope_and_not_the_net_change(self):
        # effective rank of Gemma 3 270M: .62 at the input, .14 after block 1, .41 at the output
        values = np.array([[0.62, *np.linspace(0.14, 0.41, 18)]]) + 0.001 * walks(6, 19)
        table = table_of(metrics_table(values, FALLING))
        found = {name: row_of(table, name) for name in ("slope", "net_change", "net_change_after_first")}
        assert found["slope"]["ci_low"] > 0.05
        assert found["net_change"]["ci_high"] < -0.2
        assert found["net_change_after_first"]["ci_low"] > 0.26

    def test_one_review_has_estimates_and_no_intervals(self):
        table = table_of(metrics_table(np.array([[0, 1, 3.0]])))
        row = row_of(table, "slope")
        assert (row["n_reviews"], row["estimate"]) == (1, 3)
        assert np.isnan([row["ci_low"], row["ci_high"]]).all()

    def test_one_layer_has_no_change(self):
        metrics = metrics_table(walks(6, 5)).filter(pl.col("layer") == 4)
        table = table_of(metrics)
        assert table["statistic"].to_list() == ["slope", "net_change", "net_change_after_first", "steepest"]
        assert table["estimate"].is_nan().all()
        assert (table["n_reviews"] == 0).all()

    def test_no_such_metric_is_an_empty_table(self):
        table = table_of(metrics_table(walks(6, 5)), ["effective_rank"])
        assert table.is_empty()
        assert dict(table.schema) == DEPTH_SCHEMA


def depths(n_blocks, layers=None):
    layers = np.arange(n_blocks + 1) if layers is None else np.array(layers)
    return layers, layers / n_blocks


class TestSlopes:
    def test_equal_those_of_scipy_with_values_missing(self):
        values = walks(20, 9)
        values[np.random.default_rng(1).random(values.shape) < 0.3] = np.nan
        _, depth = depths(8)
        expected = []
        for row in values:
            there = ~np.isnan(row)
            expected.append(stats.linregress(depth[there], row[there]).slope)
        np.testing.assert_allclose(slopes(values, depth), expected, rtol=1e-12)

    def test_fewer_than_two_values_have_none(self):
        values = np.array([[1.0, np.nan, np.nan], [np.nan] * 3, [1.0, np.nan, 4.0]])
        np.testing.assert_array_equal(slopes(values, np.array([0, 0.5, 1])), [np.nan, np.nan, 3])

    def test_layers_far_from_zero(self):
        _, depth = depths(12)
        assert slopes(1e6 + 1e-3 * depth, depth) == pytest.approx(1e-3, rel=1e-6)


class TestSteepest:
    def steps(self, values):
        layers, depth = depths(values.shape[1] - 1)
        return layer_steps(values, layers, depth)

    def midpoint(self, values, direction):
        steps = self.steps(values)
        return steepest_span(steps, direction, uniform_weights(len(values)), 0.95)[0]

    def test_is_nowhere_where_no_step_goes_that_way(self):
        assert np.isnan(self.midpoint(np.array([[3.0, 2, 1]]), 1))
        assert np.isnan(self.midpoint(np.zeros((2, 4)), 0))
        one_layer = layer_steps(np.ones((2, 1)), np.array([8]), np.array([1.0]))
        assert np.isnan(steepest_span(one_layer, 1, uniform_weights(2), 0.95)).all()

    def test_steps_without_a_value_never_win(self):
        assert self.midpoint(np.array([[np.nan, 0, 1, 1.5], [np.nan, 0, 1, 1.5]]), 1) == 0.5

    def test_unequal_steps_count_by_rate_not_by_change(self):
        layers, depth = depths(8, [0, 6, 8])
        steps = layer_steps(np.array([[0, 3, 5.0]]), layers, depth)
        assert steepest_span(steps, 1, uniform_weights(1), 0.95) == (7 / 8, 6 / 8, 1)

    def test_spans_the_block_that_all_draws_find_and_those_that_some_find(self):
        certain = np.tile([0, 0, 1, 5, 5.0], (20, 1))
        weights = bootstrap_weights(20, 500, seed=0)
        assert steepest_span(self.steps(certain), 1, weights, 0.95) == (5 / 8, 0.5, 0.75)
        some = certain.copy()
        some[:9] = [0, 0, 0, 0, 6]  # on average .55 · 4 against .45 · 6 in the last block
        found = steepest_span(self.steps(some), 1, weights, 0.95)
        assert found == (7 / 8, 0.5, 1)


def test_one_review_can_decide_a_slope():
    values = np.arange(5) + 0.01 * walks(20, 5)
    values[0] *= 3
    table = table_of(metrics_table(values)).filter(statistic="slope")
    assert table.select("verdict", "reason").rows() == [("undecided", "one review decides")]


class TestYardsticks:
    PROFILE = np.array([1, 3, 9, 4, 2.0])  # rises and falls again: 8, though the ends differ by 1

    def values(self):
        values = self.PROFILE + 0.01 * walks(21, 5)
        values[0, 4] = 1e6  # one review
        return values

    def test_is_the_range_of_the_medians_of_the_originals(self):
        values = self.values()
        others = [metrics_table(values * 5, variant="front"), metrics_table(values * 7, point="final_norm")]
        tables = [metrics_table(values), *others, metrics_table(values * 2, model="other")]
        size = np.ptp(np.median(values, axis=0))
        assert size == pytest.approx(8, abs=0.05)
        found = yardsticks_of(pl.concat(tables)).select("model", "metric", "view", "yardstick")
        assert found.rows() == [
            ("m", RISING, "all_tokens", pytest.approx(size)),
            ("other", RISING, "all_tokens", pytest.approx(2 * size)),
        ]

    def test_or_how_far_reviews_lie_apart_where_that_is_more(self):
        values = self.PROFILE / 100 + np.random.default_rng(0).normal(size=(21, 1))
        (found,) = yardsticks_of(metrics_table(values))["yardstick"]
        assert found == pytest.approx(np.median(values.std(axis=0, ddof=1)))

    @pytest.mark.parametrize(
        ("views", "chosen"),
        [
            (["raw", "centred_without_first", "raw_without_first", "centred"], "raw_without_first"),
            (["all_tokens", "without_first"], "without_first"),
            (["raw", "unit_without_first", "unit"], "unit_without_first"),
            (["centred", "raw"], "raw"),
        ],
    )
    def test_one_view_makes_that_of_all(self, views, chosen):
        sizes = {view: number + 1 for number, view in enumerate(views)}
        tables = [metrics_table(self.values() * size, view=view) for view, size in sizes.items()]
        found = yardsticks_of(pl.concat(tables))
        assert found["view"].to_list() == sorted(views)
        expected = np.ptp(np.median(self.values(), axis=0)) * sizes[chosen]
        assert found["yardstick"].to_list() == pytest.approx([expected] * len(views))

    def test_what_depth_does_not_move_has_none(self):
        constant = 7 + 1e-12 * walks(5, 4)
        assert yardsticks_of(metrics_table(constant))["yardstick"].to_list() == [None]
        assert yardsticks_of(metrics_table(constant).with_columns(value=pl.lit(np.nan))).is_empty()


class TestLayerValues:
    def test_puts_every_value_in_its_place_in_any_order(self):
        first, second = walks(5, 4), walks(5, 4, seed=1)
        table = pl.concat([metrics_table(first), metrics_table(second, "max_explainable_variance", "raw")])
        job = layer_values(table.sample(fraction=1, shuffle=True, seed=0))
        assert job.review_ids == ["r000", "r001", "r002", "r003", "r004"]
        np.testing.assert_array_equal(job.layers, range(4))
        np.testing.assert_allclose(job.depth, [0, 1 / 3, 2 / 3, 1])
        np.testing.assert_array_equal(job.of("all_tokens", RISING), first)
        np.testing.assert_array_equal(job.of("raw", "max_explainable_variance"), second)
        assert job.of("unit", "max_explainable_variance") is None

    def test_what_is_not_there_is_nan(self):
        values = walks(3, 4)
        table = metrics_table(values).filter((pl.col("layer") != 2) | (pl.col("review_id") != "r001"))
        values[1, 2] = np.nan
        np.testing.assert_array_equal(layer_values(table).of("all_tokens", RISING), values)
