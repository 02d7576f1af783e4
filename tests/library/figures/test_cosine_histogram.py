"""The figure of the cosines between a review's tokens."""

import numpy as np
import polars as pl

from drawings import named
from library.figures.example_tables import cosine_table
from library.figures.examples import drawn, figure_of, tables_of


def test_ridges_rise_with_depth_and_keep_the_form_of_the_histogram():
    axes = drawn("cosine_histogram").axes[0]
    ridges = [curve.get_ydata() for curve in axes.lines if curve.get_label() == "original"]
    assert len(ridges) == 8  # 7 layers and the final norm
    table = tables_of("cosine_histogram")["cosines"]
    histogram = table.filter(model="alpha", variant="original", point="residual_stream", layer=3)["density"]
    np.testing.assert_allclose((ridges[3] - 3) / (ridges[3] - 3).max(), histogram / histogram.max(), atol=1e-12)
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels[0] == "0 (0.00)"
    assert "final norm" in labels[-1].replace("\n", " ")


def test_ridges_of_a_deep_model_are_a_selection_with_both_ends():
    figure = figure_of("cosine_histogram", {"cosines": cosine_table({"deep": 32})}, models=named(["deep"]))
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert len(labels) == 10
    assert labels[0].startswith("0 ")
    assert labels[-2].startswith("32 ")


def test_pairs_with_the_first_token_have_no_curve():
    table = tables_of("cosine_histogram")["cosines"]
    first = table.with_columns(tokens=pl.lit("first_token"), density=pl.lit(1.0))
    figure = figure_of("cosine_histogram", {"cosines": pl.concat([table, first])})
    for axes, other in zip(figure.axes, drawn("cosine_histogram").axes, strict=True):
        for curve, wanted in zip(axes.lines, other.lines, strict=True):
            np.testing.assert_array_equal(curve.get_ydata(), wanted.get_ydata())
