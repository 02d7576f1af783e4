"""The figure of the attention received by position."""

from functools import cache

import numpy as np
import polars as pl

from drawings import (
    MODELS,
    N,
    attention_table,
    line,
    named,
    require_axis_labels,
    require_house_style,
    require_refusal,
    shown,
    texts,
)
from homogenization.figures.attention_profile import draw


@cache
def drawn():
    return draw({"attention": attention_table()}, shown())


def test_it_keeps_the_house_style():
    require_house_style(drawn(), f"n = {N} reviews")
    require_axis_labels(drawn())


def test_it_shows_blocks_over_the_depth_with_the_baseline():
    blocks = {"deep": 32, "shallow": 2}
    figure = draw({"attention": attention_table(blocks)}, shown(models=named(blocks)))
    titles = [axes.get_title() for axes in figure.axes if axes.axison]
    assert [title.split()[1] for title in titles] == ["1", "8", "16", "24", "32", "1", "2"]
    axes = figure.axes[0]
    place = (np.arange(20) + 0.5) / 20
    np.testing.assert_allclose(line(axes, "uniform").get_ydata(), 3 * np.exp(-4 * place))
    np.testing.assert_allclose(line(axes, "end").get_ydata(), 3 * np.exp(-4 * place) * 2 ** (1 / 32))
    assert axes.get_yscale() == "log"


def test_the_profile_of_a_bidirectional_model_is_linear():
    table = attention_table({"alpha": 2}, uniform=lambda place: 1.0)
    assert draw({"attention": table}, shown(models=MODELS[:1])).axes[0].get_yscale() == "linear"


def test_a_model_without_attention_says_so():
    assert "no attention" in texts(draw({"attention": attention_table({"alpha": 2})}, shown()))


def test_attention_without_baseline_or_with_empty_bins_is_drawn():
    nan = pl.lit(float("nan"))
    table = attention_table({"alpha": 2})
    empty_bin = pl.when(pl.col("bin") == 19).then(nan).otherwise(pl.col("received")).alias("received")
    draw({"attention": table.with_columns(empty_bin)}, shown(models=MODELS[:1]))
    figure = draw({"attention": table.with_columns(uniform=nan)}, shown(models=MODELS[:1]))
    assert not any(text.get_text() == "uniform attention" for legend in figure.legends for text in legend.get_texts())


def test_an_empty_table_is_refused():
    require_refusal(draw, {"attention": attention_table().clear()}, shown(), "attention received")
