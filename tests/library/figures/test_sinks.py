"""The figure of secondary sinks."""

from drawings import MODELS, N, texts
from library.figures.examples import drawn, figure_of, sinks_table


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
    nothing = figure_of("sinks", {"sinks": sinks_table().clear()}, models=MODELS[:1])
    assert texts(nothing).count("none") == 3
    assert "n = " not in texts(nothing)
