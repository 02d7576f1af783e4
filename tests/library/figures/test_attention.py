"""Figures of attention: received, positional, and secondary sinks."""

import numpy as np
import polars as pl
import pytest

from drawings import MODELS, VARIANTS, N, line, named, texts
from homogenization.measures.positional import CELLS, DICTIONARY
from library.figures.example_tables import attention_table, templates_table
from library.figures.examples import drawn, figure_of, sinks_table


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


def test_cells_are_heads_from_the_first_block_upwards():
    mass, ratio = (
        np.asarray(axes.collections[0].get_array()).reshape(6, 3) for axes in drawn("positional_heads").axes[:2]
    )
    np.testing.assert_allclose(mass, [[block / 6 * head / 3 for head in (1, 2, 3)] for block in range(1, 7)])
    np.testing.assert_allclose(ratio, mass / 2)


def test_lines_are_means_over_the_heads_of_a_block():
    axes = drawn("positional_heads").axes[2]
    for variant in ("original", "front"):
        assert line(axes, variant).get_xdata() == pytest.approx([block / 6 * 2 / 3 for block in range(1, 7)])
        assert list(line(axes, variant).get_ydata()) == list(range(1, 7))
    assert line(axes, "null").get_xdata() == pytest.approx([0.01] * 6)


def test_curves_run_from_the_first_key_to_the_query_itself():
    axes = drawn("positional_templates").axes[0]
    assert [tick.get_text() for tick in axes.get_xticklabels()] == [
        "first", "second", "−7–8", "−5–6", "−4", "−3", "−2", "−1", "0",
    ]  # fmt: skip
    places = [0, 1, 8, 7, 6, 5, 4, 3, 2]  # in the order of the cells
    for block in (1, 3, 4, 6):
        values = line(axes, f"block {block}").get_ydata()
        np.testing.assert_allclose(values, [block + place for place in places])
    assert axes.get_xlabel() == "Key, for queries 64 to 127"


def test_weights_are_stacked_to_one():
    bars = drawn("positional_templates").axes[1].containers
    assert len(bars) == len(DICTIONARY)
    assert [bar.get_y() + bar.get_height() for bar in bars[-1]] == pytest.approx([1] * 6)


def test_attention_received_is_over_uniform_in_the_same_blocks():
    axes = drawn("positional_templates").axes[2]
    for block in (1, 3, 4, 6):
        np.testing.assert_allclose(line(axes, f"block {block}").get_ydata(), 2.0 ** (block / 6))


def test_an_encoder_has_keys_behind_the_query_and_a_model_without_attention_says_so():
    figure = figure_of("positional_templates", templates_table({"beta": 4}, CELLS))
    labels = [tick.get_text() for tick in figure.axes[0].get_xticklabels()]
    assert labels[0] == "first"
    assert {"0", "−257 …"} & set(labels)
    assert labels[-1].startswith("+")
    tables = {"templates": templates_table({"beta": 4}), "attention": attention_table({"alpha": 6})}
    assert "no attention" in texts(figure_of("positional_templates", tables))


def test_lanes_are_any_token_then_the_most_frequent_with_their_places():
    labels = [label.get_text() for label in drawn("sinks").axes[0].get_yticklabels()]
    assert labels[:4] == ["any token (12; 3–9)", "“the” (12; 3–9)", "space (12; 3–9)", r"“\$5” (12; 3–9)"]
    assert len(labels) == 9


def test_markers_are_shares_of_the_reviews_of_a_variant():
    of_variant = {}
    for curve in drawn("sinks").axes[0].lines:
        of_variant.setdefault(curve.get_label(), []).extend(curve.get_xdata())
    assert of_variant["original"][:4] == [count / N for count in (30, 20, 10, 8)]
    assert of_variant["front"][:4] == [count / N for count in (31, 21, 11, 9)]


def test_panels_without_sinks_say_so():
    written = [text.get_text() for axes in drawn("sinks").axes for text in axes.texts]
    assert written.count("none") == 5
    nothing = figure_of("sinks", sinks_table().clear(), models=MODELS[:1])
    assert texts(nothing).count("none") == 3
    assert "n = " not in texts(nothing)
