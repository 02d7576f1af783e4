"""How metrics change over depth, review by review: scipy's slopes, differences of ends, and the fastest step."""

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy import stats

from homogenization.statistics.depth import DEPTH_SCHEMA, steepest, tabulate
from homogenization.statistics.values import yardsticks_of
from measured import metric_rows, wide_of

RISING, FALLING, NEITHER = "cosine_anisotropy", "normalized_effective_rank", "cosine_dispersion"
RESAMPLING = {"draws": 300, "confidence": 0.9, "seed": 5, "margin": 0.02}


def metrics_table(values, metric=RISING, view="all_tokens", **more):
    return metric_rows(values, metric, view, **more)


def walks(n, n_layers, seed=0):
    return np.random.default_rng(seed).standard_normal((n, n_layers)).cumsum(axis=1)


def table_of(metrics, names=(RISING, FALLING, NEITHER)):
    return tabulate(wide_of(metrics), None, names, RESAMPLING)


def row_of(table, statistic):
    return table.filter(pl.col("statistic") == statistic).row(0, named=True)


@pytest.mark.parametrize(("metric", "sign"), [(RISING, 1), (FALLING, -1), (NEITHER, 0)])
def test_estimates_are_means_of_what_each_review_has(metric, sign):
    values, depth = walks(30, 9), np.arange(9) / 8
    rates = np.diff(values) * (sign or 1)
    fastest = (np.abs(rates) if sign == 0 else rates).argmax(axis=1)
    expected = {
        "slope": np.array([stats.linregress(depth, row).slope for row in values]),
        "net_change": values[:, 8] - values[:, 0],
        "net_change_after_first": values[:, 8] - values[:, 1],
        "steepest": (fastest + 0.5) / 8,
    }
    table = table_of(metrics_table(values, metric))
    assert dict(table.schema) == DEPTH_SCHEMA
    assert table["statistic"].to_list() == list(expected)
    for statistic, sample in expected.items():
        row = row_of(table, statistic)
        interval = stats.ttest_1samp(sample, 0).confidence_interval(0.9)
        if statistic == "steepest":  # from where the steps begin to where they end
            interval = interval[0] - 0.5 / 8, interval[1] + 0.5 / 8
        found = [row[name] for name in ("mean", "ci_low", "ci_high", "median")]
        assert found == pytest.approx([sample.mean(), *interval, np.median(sample)])
    assert (row["verdict"], row["reason"]) == ("not tested", "a place is no difference")


def test_rows_models_and_variants_do_not_touch_each_other():
    mine = pl.concat([metrics_table(walks(12, 5), RISING), metrics_table(walks(12, 5, 1), FALLING)])
    others = [metrics_table(walks(9, 4, 2), model="other"), metrics_table(walks(7, 5, 3), variant="front")]
    after = mine.filter(pl.col("layer") == 4).with_columns(pl.lit("final_norm").alias("point"), pl.col("value") + 100)
    everything = pl.concat([mine, *others, after]).sample(fraction=1, shuffle=True, seed=1)
    own = table_of(everything).filter(model="m", variant="original")
    assert_frame_equal(own, table_of(mine), rel_tol=1e-12)
    assert_frame_equal(table_of(mine, [FALLING]), table_of(mine).filter(metric=FALLING), rel_tol=1e-12)


def test_a_metric_that_begins_after_the_first_block():
    """As attention: no value at layer 0, beside a metric that has one."""
    values, name = walks(10, 5), "first_token_attention_share"
    attention = metrics_table(values, name).filter(pl.col("layer") > 0)
    table = table_of(pl.concat([attention, metrics_table(walks(10, 5))]), [RISING, name]).filter(metric=name)
    assert row_of(table, "net_change")["n_reviews"] == 0
    assert np.isnan(row_of(table, "net_change")["mean"])
    expected = np.mean([stats.linregress([0.25, 0.5, 0.75, 1], row[1:]).slope for row in values])
    assert row_of(table, "slope")["mean"] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("values", "sign", "layers", "expected"),
    [
        ([3.0, 2, 1], 1, (0, 1, 2), (np.nan, np.nan)),  # no step goes that way
        ([np.nan, 0, 1], 1, (0, 1, 2), (0.5, 1)),
        ([0, 3, 5.0], 1, (0, 6, 8), (6 / 8, 1)),  # by its rate, not by its change
    ],
)
def test_the_steepest_step(values, sign, layers, expected):
    found = steepest(np.array([values]), np.array(layers) / max(layers), sign)
    np.testing.assert_allclose(found[:, 0], expected)


PROFILE = np.array([1, 3, 9, 4, 2.0])  # rises and falls again: 8, though the ends differ by 1


def test_a_yardstick_is_the_range_of_the_medians_of_the_originals_or_how_far_reviews_lie_apart():
    values = PROFILE + 0.01 * walks(21, 5)
    values[0, 4] = 1e6  # one review
    others = [metrics_table(values * 5, variant="front"), metrics_table(values * 7, point="final_norm")]
    size = np.ptp(np.median(values, axis=0))
    found = yardsticks_of(pl.concat([metrics_table(values), *others])).select("metric", "view", "yardstick")
    assert found.rows() == [(RISING, "all_tokens", pytest.approx(size))]
    apart = PROFILE / 100 + np.random.default_rng(0).normal(size=(21, 1))
    wanted = np.median(apart.std(axis=0, ddof=1))
    assert yardsticks_of(metrics_table(apart))["yardstick"].to_list() == pytest.approx([wanted])


def test_one_view_makes_the_yardstick_of_all():
    sizes = {"raw": 1, "centred_without_first": 2, "raw_without_first": 3, "centred": 4}
    found = yardsticks_of(
        pl.concat(metrics_table(np.array([PROFILE] * 2) * of, view=view) for view, of in sizes.items())
    )
    assert dict(found.select("view", "yardstick").rows()) == dict.fromkeys(sizes, pytest.approx(8 * 3))
