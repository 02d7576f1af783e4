"""Figures of attention received."""

import numpy as np
import polars as pl

from drawings import MODELS, VARIANTS, line, named
from library.figures.example_tables import attention_table
from library.figures.examples import drawn, figure_of


def test_colours_are_doublings_over_uniform_around_zero():
    axes = drawn("attention_heatmap").axes
    mesh = axes[0].collections[0]
    cells = np.asarray(mesh.get_array()).reshape(6, 20)
    np.testing.assert_allclose(cells, np.repeat(np.arange(1, 7)[:, None] / 6, 20, axis=1))  # lowest row: block 1
    assert mesh.norm.vmin == -mesh.norm.vmax
    assert [panel.get_title() for panel in axes[:4]] == [label for _, label in VARIANTS]


def test_each_model_has_its_scale_so_that_an_encoder_beside_a_decoder_is_not_blank():
    weak = pl.when(pl.col("model") == "beta").then(pl.col("uniform") * 1.05).otherwise("received")
    figure = figure_of("attention_heatmap", attention_table().with_columns(received=weak))
    strong, faint = (figure.axes[index].collections[0] for index in (0, len(VARIANTS)))
    assert strong.norm.vmax > 0.9
    assert faint.norm.vmax < 0.2
    assert [axes.get_ylabel() for axes in figure.axes].count("Received / uniform") == 2


def test_the_heat_map_without_baseline_or_with_empty_bins_is_grey_there():
    nan = pl.lit(float("nan"))
    table = attention_table({"alpha": 2})
    empty_bin = pl.when(pl.col("bin") == 19).then(nan).otherwise(pl.col("received")).alias("received")
    figures = [
        figure_of("attention_heatmap", table.with_columns(changed)) for changed in (empty_bin, nan.alias("uniform"))
    ]
    cells = [np.ma.getmaskarray(figure.axes[0].collections[0].get_array()).reshape(2, 20) for figure in figures]
    assert cells[0].sum(axis=1).tolist() == [1, 1]
    assert cells[1].all()


def test_it_shows_blocks_over_the_depth_with_the_baseline():
    blocks = {"deep": 32, "shallow": 2}
    figure = figure_of("attention_profile", attention_table(blocks), models=named(blocks))
    titles = [axes.get_title() for axes in figure.axes if axes.axison]
    assert [title.split()[1] for title in titles] == ["1", "8", "16", "24", "32", "1", "2"]
    axes = figure.axes[0]
    place = (np.arange(20) + 0.5) / 20
    np.testing.assert_allclose(line(axes, "uniform").get_ydata(), 3 * np.exp(-4 * place))
    assert axes.get_yscale() == "log"


def test_the_profile_of_a_bidirectional_model_is_linear():
    table = attention_table({"alpha": 2}, uniform=lambda place: 1.0)
    assert figure_of("attention_profile", table, models=MODELS[:1]).axes[0].get_yscale() == "linear"


def test_the_profile_without_baseline_or_with_empty_bins_is_drawn():
    nan = pl.lit(float("nan"))
    table = attention_table({"alpha": 2})
    empty_bin = pl.when(pl.col("bin") == 19).then(nan).otherwise(pl.col("received")).alias("received")
    figure_of("attention_profile", table.with_columns(empty_bin), models=MODELS[:1])
    figure = figure_of("attention_profile", table.with_columns(uniform=nan), models=MODELS[:1])
    assert not any(text.get_text() == "uniform attention" for legend in figure.legends for text in legend.get_texts())
