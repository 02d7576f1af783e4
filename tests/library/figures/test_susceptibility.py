"""The figure of slopes by block."""

import numpy as np

from drawings import LONG, line, named, require_house_style, texts
from library.figures.changed_tables import SLOPED, SLOPES, not_tested, slope, slopes_table
from library.figures.examples import drawn, figure_of


def test_lines_are_the_slopes_of_blocks_from_the_untouched_run():
    figure = drawn("susceptibility")
    assert "d Cosine anisotropy / dλ" in texts(figure)
    assert [axes.get_title() for axes in figure.axes] == ["Alpha (trained)", "Beta (random)", "", ""]
    for axes, n_blocks in zip(figure.axes[:2], SLOPED.values(), strict=True):
        blocks = np.arange(1, n_blocks + 1)
        for pattern in SLOPES:
            np.testing.assert_array_equal(line(axes, pattern).get_xdata(), blocks)
            np.testing.assert_allclose(line(axes, pattern).get_ydata(), [slope(pattern, block) for block in blocks])
        vertices = axes.collections[0].get_paths()[0].vertices
        assert vertices[:, 1].max() == 0.25
        assert len(axes.collections) == 1


def test_a_model_without_slopes_is_left_out():
    only = figure_of("susceptibility", {"slopes": slopes_table({"alpha": 30})})
    assert [axes.get_title() for axes in only.axes] == ["Alpha (trained)", ""]


def test_long_names_have_room():
    figure = figure_of("susceptibility", {"slopes": slopes_table({LONG: 30})}, models=named([LONG]))
    require_house_style(figure, "n = 9 reviews")


def test_slopes_that_are_not_tested_are_said():
    figure = figure_of("susceptibility", {"slopes": not_tested(slopes_table({"alpha": 30}))})
    assert "not tested: 9 reviews" in texts(figure)
