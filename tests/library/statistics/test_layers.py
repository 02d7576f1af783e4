import numpy as np
import polars as pl
import pytest
from scipy import stats

from homogenization.names.points import REGIONS
from homogenization.statistics.layers import (
    depth_ranges,
    layer_steps,
    layer_values,
    rate,
    slopes,
    steepest_span,
)
from homogenization.statistics.resampling import bootstrap_weights, uniform_weights
from library.statistics.shared import metric_rows

RISING = "cosine_anisotropy"


def depths(n_blocks, layers=None):
    layers = np.arange(n_blocks + 1) if layers is None else np.array(layers)
    return layers, layers / n_blocks


def metrics_table(values, metric=RISING, view="all_tokens", **more):
    return metric_rows(values, metric, view, **more)


def walks(n, n_layers, seed=0):
    return np.random.default_rng(seed).standard_normal((n, n_layers)).cumsum(axis=1)


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


class TestRates:
    def test_wide_steps_weigh_by_their_width(self):
        layers, depth = depths(8, [0, 2, 3, 5, 8])
        values = np.array([0.0, 4, 5, 5, 2])
        steps = layer_steps(values, layers, depth)
        np.testing.assert_allclose(steps.rates, [16, 8, 0, -8])
        assert [rate(steps, region) for region in REGIONS] == pytest.approx([16, 0, -8])

    def test_a_missing_layer_takes_its_two_steps_along(self):
        layers, depth = depths(8)
        values = np.array([[0, 1, 2, 3, 10, np.nan, 20, 21, 22.0]])
        steps = layer_steps(values, layers, depth)
        assert np.isnan(steps.rates[0, 4:6]).all()
        assert rate(steps, "middle")[0] == pytest.approx((1 + 7) / (2 / 8))

    def test_where_no_step_reaches(self):
        layers, depth = depths(8, [4, 6, 8])
        steps = layer_steps(np.array([[1.0, 2, 4]]), layers, depth)
        assert [rate(steps, region)[0] for region in REGIONS] == pytest.approx([np.nan, 4, 8], nan_ok=True)

    @pytest.mark.parametrize("n_blocks", [1, 2, 3, 6, 7, 12, 30])
    def test_the_regions_share_the_whole_change(self, n_blocks):
        layers, depth = depths(n_blocks)
        values = walks(4, n_blocks + 1)
        steps = layer_steps(values, layers, depth)
        widths = {"first": 0.25, "middle": 0.5, "last": 0.25}
        shared = sum(rate(steps, region) * width for region, width in widths.items())
        np.testing.assert_allclose(shared, values[:, -1] - values[:, 0])


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


class TestDepthRanges:
    def table(self, **more):
        profile = np.array([1, 3, 9, 4, 2.0])  # rises and falls again: 8, though the ends differ by 1
        values = profile + 0.01 * walks(21, 5)
        values[0, 4] = 1e6  # one review
        return profile, values, metrics_table(values, **more)

    def test_is_the_range_of_the_medians_of_the_originals(self):
        _, values, table = self.table()
        others = [metrics_table(values * 5, variant="front"), metrics_table(values * 7, point="final_norm")]
        found = depth_ranges(pl.concat([table, *others, metrics_table(values * 2, model="other")]))
        size, spread = np.ptp(np.median(values, axis=0)), np.median(values.std(axis=0, ddof=1))
        assert found.rows() == [
            ("m", "all_tokens", RISING, pytest.approx(size), pytest.approx(spread)),
            ("other", "all_tokens", RISING, pytest.approx(2 * size), pytest.approx(2 * spread)),
        ]
        assert size == pytest.approx(8, abs=0.05)

    def test_what_depth_does_not_move_has_none(self):
        constant = 7 + 1e-12 * walks(5, 4)
        assert depth_ranges(metrics_table(constant))["depth_range"].is_nan().all()
        assert depth_ranges(metrics_table(constant).with_columns(value=pl.lit(np.nan))).is_empty()


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
