"""The figure of the attention received by position."""

import numpy as np
import polars as pl

from drawings import MODELS, line, named
from library.figures.example_tables import attention_table
from library.figures.examples import figure_of


def profile(table, **fields):
    return figure_of("attention_profile", {"attention": table}, **fields)


def test_it_shows_blocks_over_the_depth_with_the_baseline():
    blocks = {"deep": 32, "shallow": 2}
    figure = profile(attention_table(blocks), models=named(blocks))
    titles = [axes.get_title() for axes in figure.axes if axes.axison]
    assert [title.split()[1] for title in titles] == ["1", "8", "16", "24", "32", "1", "2"]
    axes = figure.axes[0]
    place = (np.arange(20) + 0.5) / 20
    np.testing.assert_allclose(line(axes, "uniform").get_ydata(), 3 * np.exp(-4 * place))
    assert axes.get_yscale() == "log"


def test_the_profile_of_a_bidirectional_model_is_linear():
    table = attention_table({"alpha": 2}, uniform=lambda place: 1.0)
    assert profile(table, models=MODELS[:1]).axes[0].get_yscale() == "linear"


def test_attention_without_baseline_or_with_empty_bins_is_drawn():
    nan = pl.lit(float("nan"))
    table = attention_table({"alpha": 2})
    empty_bin = pl.when(pl.col("bin") == 19).then(nan).otherwise(pl.col("received")).alias("received")
    profile(table.with_columns(empty_bin), models=MODELS[:1])
    figure = profile(table.with_columns(uniform=nan), models=MODELS[:1])
    assert not any(text.get_text() == "uniform attention" for legend in figure.legends for text in legend.get_texts())
