import importlib.util
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import stats

from homogenization.run.parquet import read_table, table_metadata, write_table
from homogenization.statistics.depth import (
    DEPTH_SCHEMA,
    REGIONS,
    depth_table,
    layer_steps,
    layer_values,
    rate,
    slopes,
    steepest_depth,
    uniform_weights,
)
from homogenization.statistics.resampling import bootstrap_weights, mean_interval
from homogenization.tables.metrics import METRICS_SCHEMA

ROOT = Path(__file__).parents[3]
RISING, FALLING, NEITHER = "cosine_anisotropy", "normalized_effective_rank", "cosine_dispersion"
DRAWS, CONFIDENCE, SEED = 300, 0.9, 5


def depths(n_blocks, layers=None):
    layers = np.arange(n_blocks + 1) if layers is None else np.array(layers)
    return layers, layers / n_blocks


def metrics_table(values, metric=RISING, view="all_tokens", model="m", variant="original"):
    """Rows of tables/metrics.parquet from (reviews, layers) values, a layer for each of the columns."""
    n_layers = values.shape[1]
    review, layer = (index.ravel() for index in np.indices(values.shape))
    return pl.DataFrame(
        {
            "model": model,
            "variant": variant,
            "review_id": [f"r{number:03d}" for number in review],
            "point": "residual_stream",
            "layer": layer,
            "depth": layer / (n_layers - 1),
            "view": view,
            "metric": metric,
            "value": values.ravel(),
        },
        schema=METRICS_SCHEMA,
    )


def walks(n, n_layers, seed=0):
    return np.random.default_rng(seed).standard_normal((n, n_layers)).cumsum(axis=1)


def table_of(metrics, names=(RISING, FALLING, NEITHER)):
    return depth_table(metrics, names, DRAWS, CONFIDENCE, SEED)


def row_of(table, statistic):
    return table.filter(pl.col("statistic") == statistic).row(0, named=True)


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


class TestRates:
    def test_a_region_is_its_change_over_its_depth(self):
        layers, depth = depths(8)
        values = depth**2
        steps = layer_steps(values, layers, depth)
        # steps 1, 2 | 3 ... 6 | 7, 8: a parabola changes by (b^2 - a^2) / (b - a) = a + b
        assert [rate(steps, region) for region in REGIONS] == pytest.approx([0.25, 1.0, 1.75])
        np.testing.assert_array_equal(steps.layers, range(1, 9))
        np.testing.assert_allclose(steps.rates, 2 * steps.midpoints)

    def test_wide_steps_weigh_by_their_width(self):
        layers, depth = depths(8, [0, 2, 3, 5, 8])
        values = np.array([0.0, 4, 5, 5, 2])
        steps = layer_steps(values, layers, depth)
        np.testing.assert_allclose(steps.midpoints, [1 / 8, 2.5 / 8, 0.5, 6.5 / 8])
        np.testing.assert_allclose(steps.rates, [16, 8, 0, -8])
        assert [rate(steps, region) for region in REGIONS] == pytest.approx([16, 8 / 3, -8])

    def test_a_missing_layer_takes_its_two_steps_along(self):
        layers, depth = depths(8)
        values = np.array([[0, 1, 2, 3, 10, np.nan, 20, 21, 22.0]])
        steps = layer_steps(values, layers, depth)
        assert np.isnan(steps.rates[0, 4:6]).all()
        assert rate(steps, "middle")[0] == pytest.approx((1 + 7) / (2 / 8))

    def test_no_step_in_a_region(self):
        layers, depth = depths(2)
        steps = layer_steps(np.array([[1.0, 2, 4]]), layers, depth)
        np.testing.assert_array_equal(rate(steps, "first"), [np.nan])
        assert (rate(steps, "middle")[0], rate(steps, "last")[0]) == (2, 4)

    @pytest.mark.parametrize("n_blocks", range(2, 100, 4))
    def test_a_midpoint_on_a_border_belongs_to_what_follows(self, n_blocks):
        layers, depth = depths(n_blocks)
        steps = layer_steps(depth, layers, depth)
        counts = {
            region: int(((steps.midpoints >= low) & (steps.midpoints < high)).sum())
            for region, (low, high) in REGIONS.items()
        }
        # 2l - 1 < B/2 and 2l - 1 < 3B/2, in whole numbers
        first = sum(2 * (2 * layer - 1) < n_blocks for layer in range(1, n_blocks + 1))
        before_last = sum(2 * (2 * layer - 1) < 3 * n_blocks for layer in range(1, n_blocks + 1))
        assert counts == {"first": first, "middle": before_last - first, "last": n_blocks - before_last}


class TestSteepest:
    def steps(self, values):
        layers, depth = depths(values.shape[1] - 1)
        return layer_steps(values, layers, depth)

    def test_follows_the_direction_of_homogenization(self):
        steps = self.steps(np.array([[0, 1, 1, -4, -2.0]]))  # rates 4, 0, -20, 8
        found = [steepest_depth(steps, direction, uniform_weights(1))[0] for direction in (1, -1, 0)]
        assert found == [0.875, 0.625, 0.625]

    def test_is_that_of_the_mean_and_no_mean_of_its_own(self):
        values = np.array([[0, 9, 9, 9.0], [0, 0, 9, 9], [0, 0, 1, 10]])
        # changes summed over the reviews: 9, 10, 9
        assert steepest_depth(self.steps(values), 1, uniform_weights(3))[0] == 0.5
        by_review = steepest_depth(self.steps(values), 1, np.eye(3))
        np.testing.assert_allclose(by_review, [1 / 6, 0.5, 5 / 6])

    def test_is_nowhere_where_no_step_goes_that_way(self):
        falling, flat = self.steps(np.array([[3.0, 2, 1]])), self.steps(np.zeros((2, 4)))
        assert np.isnan(steepest_depth(falling, 1, uniform_weights(1)))
        assert np.isnan(steepest_depth(flat, 0, uniform_weights(2)))
        one_layer = layer_steps(np.ones((2, 1)), np.array([8]), np.array([1.0]))
        assert np.isnan(steepest_depth(one_layer, 1, uniform_weights(2)))

    def test_steps_without_a_value_never_win(self):
        values = np.array([[np.nan, 0, 1, 1.5], [np.nan, 0, 1, 1.5]])
        assert steepest_depth(self.steps(values), 1, uniform_weights(2))[0] == 0.5

    def test_unequal_steps_count_by_rate_not_by_change(self):
        layers, depth = depths(8, [0, 6, 8])
        steps = layer_steps(np.array([[0, 3, 5.0]]), layers, depth)
        assert steepest_depth(steps, 1, uniform_weights(1))[0] == 7 / 8


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
        assert of_one["statistic"].to_list() == ["slope", *rates, "steepest", *steps]
        assert (table["n_reviews"] == 6).all()

    def test_estimates_and_intervals(self):
        values = walks(30, 9) + np.linspace(0, 9, 9)
        table = table_of(metrics_table(values))
        _, depth = depths(8)
        weights = bootstrap_weights(30, DRAWS, SEED)
        expected = {
            "slope": np.array([stats.linregress(depth, row).slope for row in values]),
            "rate_first": (values[:, 2] - values[:, 0]) / 0.25,
            "rate_middle": (values[:, 6] - values[:, 2]) / 0.5,
            "rate_last": (values[:, 8] - values[:, 6]) / 0.25,
            "step_003": (values[:, 3] - values[:, 2]) * 8,
        }
        for statistic, by_review in expected.items():
            row = row_of(table, statistic)
            low, high = mean_interval(by_review[:, None], weights, CONFIDENCE)
            found = (row["estimate"], row["ci_low"], row["ci_high"])
            assert found == pytest.approx((by_review.mean(), low[0], high[0]), rel=1e-9)

    @pytest.mark.parametrize(("metric", "sign"), [(RISING, 1), (FALLING, -1), (NEITHER, 0)])
    def test_steepest_by_its_definition(self, metric, sign):
        values = walks(25, 7, seed=3)
        row = row_of(table_of(metrics_table(values, metric)), "steepest")

        def found(weights):
            rates = np.diff(np.average(values, axis=0, weights=weights)) * 6
            return (np.argmax(sign * rates if sign else np.abs(rates)) + 0.5) / 6

        draws = [found(weights) for weights in bootstrap_weights(25, DRAWS, SEED)]
        assert row["estimate"] == pytest.approx(found(np.ones(25)))
        assert len(set(draws)) > 2  # the case is not a trivial one
        bounds = np.quantile(draws, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
        assert (row["ci_low"], row["ci_high"]) == pytest.approx(tuple(bounds), abs=1e-8)

    def test_rows_models_and_variants_do_not_touch_each_other(self):
        mine = pl.concat([metrics_table(walks(12, 5), RISING), metrics_table(walks(12, 5, 1), FALLING)])
        others = [metrics_table(walks(9, 4, 2), model="other"), metrics_table(walks(7, 5, 3), variant="front")]
        everything = pl.concat([mine, *others]).sample(fraction=1, shuffle=True, seed=1)
        own = table_of(everything).filter(model="m", variant="original")
        assert own.equals(table_of(mine))
        assert table_of(mine, [FALLING]).equals(table_of(mine).filter(metric=FALLING))

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
        first = row_of(table, "step_001")
        assert first["n_reviews"] == 0
        assert np.isnan([first["estimate"], first["ci_low"], first["ci_high"]]).all()
        expected = np.mean([stats.linregress([0.25, 0.5, 0.75, 1], row[1:]).slope for row in values])
        assert row_of(table, "slope")["estimate"] == pytest.approx(expected)

    def test_one_review_has_estimates_and_no_intervals(self):
        table = table_of(metrics_table(np.array([[0, 1, 3.0]])))
        row = row_of(table, "slope")
        assert (row["n_reviews"], row["estimate"]) == (1, 3)
        assert np.isnan([row["ci_low"], row["ci_high"]]).all()

    def test_one_layer_has_no_change(self):
        metrics = metrics_table(walks(6, 5)).filter(pl.col("layer") == 4)
        table = table_of(metrics)
        assert table["statistic"].to_list() == ["slope", "rate_first", "rate_middle", "rate_last", "steepest"]
        assert table["estimate"].is_nan().all()
        assert (table["n_reviews"] == 0).all()

    def test_no_such_metric_is_an_empty_table(self):
        table = table_of(metrics_table(walks(6, 5)), ["effective_rank"])
        assert table.is_empty()
        assert dict(table.schema) == DEPTH_SCHEMA


def test_the_script_writes_the_table(tmp_path):
    path = ROOT / "workflow" / "scripts" / "measure_depth.py"
    spec = importlib.util.spec_from_file_location("measure_depth", path)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    metrics = metrics_table(walks(6, 5))
    write_table(metrics, tmp_path / "metrics.parquet")
    script.main(str(tmp_path / "metrics.parquet"), str(tmp_path / "depth.parquet"), [RISING], DRAWS, CONFIDENCE, SEED)
    assert read_table(tmp_path / "depth.parquet").equals(table_of(metrics))
    assert table_metadata(tmp_path / "depth.parquet") == {"draws": DRAWS, "confidence": CONFIDENCE, "seed": SEED}
