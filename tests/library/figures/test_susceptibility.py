"""The figure of slopes by block."""

from drawings import line, texts
from library.figures.changed_tables import SLOPED, not_tested, slopes_table
from library.figures.examples import drawn, figure_of


def test_lines_are_the_slopes_of_blocks_from_the_untouched_run():
    figure = drawn("susceptibility")
    assert "d Cosine anisotropy / dλ" in texts(figure)
    assert [axes.get_title() for axes in figure.axes] == ["Alpha (trained)", "Beta (random)", "", ""]
    for axes, n_blocks in zip(figure.axes[:2], SLOPED.values(), strict=True):
        assert len(line(axes, "first").get_xdata()) == n_blocks
        vertices = axes.collections[0].get_paths()[0].vertices
        assert vertices[:, 1].max() == 0.25
        assert len(axes.collections) == 1


def test_slopes_that_are_not_tested_are_said():
    figure = figure_of("susceptibility", {"slopes": not_tested(slopes_table({"alpha": 30}))})
    assert "not tested: 9 reviews" in texts(figure)
