"""The figure of one metric against depth."""

import polars as pl
import pytest

from drawings import VARIANTS, line, texts
from library.figures import examples
from library.figures.example_tables import summary_table, value_of
from library.figures.examples import drawn


def figure_of(table, **fields):
    return examples.figure_of("metric", {"summary": table}, **{"label": "L", "views": ["raw"]} | fields)


def test_the_original_is_in_front_and_the_other_variants_are_thin_without_bands():
    axes = drawn("metric").axes[0]
    assert len(axes.collections) == 1 + 1  # the band, and the interval after the final norm
    original = line(axes, "original")
    for variant, _ in VARIANTS[1:]:
        other = line(axes, variant)
        assert other.get_marker() in ("", "None")
        assert other.get_linewidth() < original.get_linewidth()
        assert axes.lines.index(other) < axes.lines.index(original)
    untouched = drawn("metric").texts[-1].get_text()
    assert "Thin: the other variants" in " ".join(untouched.split())


def test_final_norm_is_an_open_marker_right_of_the_curve_and_not_part_of_it():
    axes = drawn("metric").axes[0]
    assert line(axes, "original").get_xdata().max() == 1
    marker = line(axes, "original after final norm")
    assert len(marker.get_xdata()) == 1
    assert 1 < marker.get_xdata()[0] < axes.get_xlim()[1]
    assert marker.get_ydata()[0] == pytest.approx(value_of("alpha", "original", 1.0, 0.5))
    assert marker.get_markerfacecolor() == "white"


def test_without_final_norm_there_is_no_room_for_it():
    figure = figure_of(summary_table().filter(pl.col("point") == "residual_stream"))
    assert figure.axes[0].get_xlim()[1] < 1.05
    assert "final norm" not in texts(figure)


def test_a_metric_shows_its_own_views_where_it_has_none_of_the_wanted():
    table = summary_table("resultant_length", ("all_tokens", "without_first"))
    figure = figure_of(table, metric="resultant_length", views=["raw", "unit"])
    assert len(figure.axes) == 4
    assert "all tokens" in texts(figure)


@pytest.mark.parametrize(("factor", "scale"), [(5.0, "linear"), (5000.0, "log")])
def test_a_metric_over_decades_is_drawn_on_a_logarithmic_axis_and_says_so(factor, scale):
    axes = figure_of(summary_table(views=("raw",)).with_columns(mean=1 + factor * pl.col("depth"))).axes[0]
    assert axes.get_yscale() == scale
    assert ("log scale" in axes.get_ylabel()) == (scale == "log")


def test_a_constant_metric_is_not_blown_up_to_rounding_noise():
    noise = pl.int_range(pl.len()) * 1e-15
    table = summary_table(views=("raw",)).with_columns(mean=1 + noise, ci_low=1 + noise, ci_high=1 + noise)
    low, high = figure_of(table).axes[0].get_ylim()
    assert high - low > 0.01


def test_missing_values_leave_gaps_and_a_model_without_values_says_so():
    nan = pl.when(pl.col("model") == "beta").then(float("nan")).otherwise(pl.col("mean"))
    figure = figure_of(summary_table(views=("raw",)).with_columns(mean=nan, ci_low=pl.lit(None, dtype=pl.Float64)))
    assert len(figure.axes[0].lines) > 0
    assert [text.get_text() for text in figure.axes[1].texts if "no values" in text.get_text()]
