"""The figure of what happens at peaks and troughs."""

import numpy as np

from drawings import N, line, require_house_style, texts
from library.figures.example_tables import summary_table
from library.figures.examples import drawn, figure_of, tables_of


def panel(row, column):
    return drawn("extrema").axes[row * 2 + column]


def test_a_curve_is_the_mean_of_the_originals_with_its_extrema():
    axes = panel(0, 0)
    for kind, place, settled in (("peak", (1 / 3, 2.4), True), ("trough", (2 / 3, 2.7), False)):
        marker = line(axes, kind)
        np.testing.assert_allclose(marker.get_xydata(), [place])
        assert (marker.get_markerfacecolor() != "white") == settled
    spans = [segment for lines in axes.collections[1:] for segment in lines.get_segments()]
    np.testing.assert_allclose(spans[0], [[1 / 6, 2.4], [0.5, 2.4]])
    np.testing.assert_allclose(spans[1], [[1 / 3, 2.3], [1 / 3, 2.6]])
    assert not [curve for curve in panel(0, 1).lines if curve.get_label() == "peak"]


def test_what_stands_in_the_stream_is_drawn_below_and_settled_extrema_are_marked_there():
    axes = panel(1, 0)
    np.testing.assert_allclose(line(axes, "feed_forward_addition").get_ydata(), 0.3)
    assert max(np.max(curve.get_ydata()) for curve in axes.lines if curve.get_label() != "peak") < 1
    assert {curve.get_label() for curve in axes.lines} == {"feed_forward_addition", "zero", "peak"}
    assert "change of maximum explainable variance" in texts(drawn("extrema"))
    assert "not computed" in [text.get_text() for text in panel(1, 1).texts]
    np.testing.assert_allclose(line(panel(2, 1), "first_token_energy_share").get_ydata(), 0.2)


def test_a_study_without_mev_and_cosine_shows_another_metric():
    others = {name: table.clear() for name, table in tables_of("extrema").items()}
    others["summary"] = summary_table("resultant_length", views=("all_tokens",))
    figure = figure_of("extrema", others, metric_titles={})
    require_house_style(figure, f"n = {N} reviews")
    assert len(figure.axes) == 2
    assert "resultant_length" in texts(figure)
