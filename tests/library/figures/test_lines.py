"""Figures of lines: a metric, MAUVE, the first token, training."""

import numpy as np
import polars as pl
import pytest

from drawings import VARIANTS, line, texts
from library.figures import examples
from library.figures.example_tables import first_token_table, mauve_table, summary_table, value_of
from library.figures.examples import drawn, figure_of, require_refusal


def of_metric(table, **fields):
    return examples.figure_of("metric", table, **{"label": "L", "views": ["raw"]} | fields)


def test_the_original_is_in_front_and_the_other_variants_are_thin_without_bands():
    axes = drawn("metric").axes[0]
    assert len(axes.collections) == 1 + 1  # the band, and the interval after the final norm
    original = line(axes, "original")
    for variant, _ in VARIANTS[1:]:
        other = line(axes, variant)
        assert other.get_marker() in ("", "None")
        assert other.get_linewidth() < original.get_linewidth()
        assert axes.lines.index(other) < axes.lines.index(original)


def test_final_norm_is_an_open_marker_right_of_the_curve_and_not_part_of_it():
    axes = drawn("metric").axes[0]
    assert line(axes, "original").get_xdata().max() == 1
    marker = line(axes, "original after final norm")
    assert len(marker.get_xdata()) == 1
    assert 1 < marker.get_xdata()[0] < axes.get_xlim()[1]
    assert marker.get_ydata()[0] == pytest.approx(value_of("alpha", "original", 1.0, 0.5))
    assert marker.get_markerfacecolor() == "white"


def test_without_final_norm_there_is_no_room_for_it():
    figure = of_metric(summary_table().filter(pl.col("point") == "residual_stream"))
    assert figure.axes[0].get_xlim()[1] < 1.05
    assert "final norm" not in texts(figure)


def test_a_metric_shows_its_own_views_where_it_has_none_of_the_wanted():
    table = summary_table("resultant_length", ("all_tokens", "without_first"))
    figure = of_metric(table, metric="resultant_length", views=["raw", "unit"])
    assert len(figure.axes) == 4
    assert "all tokens" in texts(figure)


@pytest.mark.parametrize(("factor", "scale"), [(5.0, "linear"), (5000.0, "log")])
def test_a_metric_over_decades_is_drawn_on_a_logarithmic_axis_and_says_so(factor, scale):
    axes = of_metric(summary_table(views=("raw",)).with_columns(mean=1 + factor * pl.col("depth"))).axes[0]
    assert axes.get_yscale() == scale
    assert ("log scale" in axes.get_ylabel()) == (scale == "log")


def test_a_constant_metric_is_not_blown_up_to_rounding_noise():
    noise = pl.int_range(pl.len()) * 1e-15
    table = summary_table(views=("raw",)).with_columns(mean=1 + noise, ci_low=1 + noise, ci_high=1 + noise)
    low, high = of_metric(table).axes[0].get_ylim()
    assert high - low > 0.01


def test_the_null_is_the_mean_and_range_of_the_values_of_the_table():
    axes = drawn("mauve").axes[0]
    mean_length = np.mean([len(variant) for variant, _ in VARIANTS])
    np.testing.assert_allclose(
        line(axes, "null").get_ydata(), [0.95 + 0.001 * mean_length + 0.01 * e for e in range(7)]
    )
    band = axes.collections[0].get_paths()[0].vertices[:, 1]
    assert band.min() == pytest.approx(0.95 + 0.001 * len("end") - 0.02)
    assert band.max() == pytest.approx(0.95 + 0.001 * len("scattered") + 0.06 + 0.01)


def test_a_variant_with_too_few_tokens_is_named_and_one_that_is_not_measured_is_not():
    table = mauve_table().filter(~pl.col("variant").is_in(["front", "end"]))
    figure = figure_of("mauve", table, mauve_variants=["original", "front", "scattered"])
    assert f"too few tokens: {dict(VARIANTS)['front']}" in texts(figure)
    require_refusal("mauve", "MAUVE between consecutive layers", mauve_table().filter(kind="null"))


def test_it_has_a_row_a_measure_and_the_uniform_share():
    table = first_token_table().with_columns(
        mean=pl.when(pl.col("metric") == "first_token_attention_excess").then(pl.col("mean") - 0.04).otherwise("mean")
    )
    figure = figure_of("first_token", table)
    assert len(figure.axes) == 8
    np.testing.assert_allclose(line(figure.axes[4], "uniform").get_ydata(), 0.04)
    assert {curve.get_label() for axes in figure.axes for curve in axes.lines} == {"original", "uniform"}
    assert line(figure.axes[0], "original").get_xdata().max() == 1
    of_norm = figure_of("first_token", first_token_table(["first_token_norm"]))
    assert len(of_norm.axes) == 2, "what is not in the table has no row"


def test_the_last_held_out_loss_stands_beside_its_line():
    assert [text.get_text() for text in drawn("training").axes[0].texts] == ["3.02"]
