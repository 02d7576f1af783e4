"""The figure of the first token's norm, shares and cosine."""

import numpy as np
import polars as pl

from drawings import line
from homogenization.figures.catalogue import FIGURES
from homogenization.figures.first_token import METRICS
from library.figures.example_tables import first_token_table
from library.figures.examples import figure_of


def test_it_has_a_row_a_measure_and_the_uniform_share():
    table = first_token_table().with_columns(
        mean=pl.when(pl.col("metric") == "first_token_attention_excess").then(pl.col("mean") - 0.04).otherwise("mean")
    )
    figure = figure_of("first_token", {"summary": table})
    assert len(figure.axes) == 8
    np.testing.assert_allclose(line(figure.axes[4], "uniform").get_ydata(), 0.04)
    assert {curve.get_label() for axes in figure.axes for curve in axes.lines} == {"original", "uniform"}
    assert line(figure.axes[0], "original").get_xdata().max() == 1


def test_it_leaves_out_what_is_not_in_the_table():
    assert len(figure_of("first_token", {"summary": first_token_table(["first_token_norm"])}).axes) == 2


def test_a_study_draws_it_where_it_has_one_of_its_rows():
    """The excess over uniform attention alone draws no row."""
    for metric in (*METRICS, "effective_rank"):
        study = type("Study", (), {"tabulated_metrics": [metric]})
        drawn_there = bool(FIGURES["first_token"].when(study))
        assert drawn_there == (metric in METRICS and metric != "first_token_attention_excess"), metric
