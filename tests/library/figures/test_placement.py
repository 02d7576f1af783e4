"""The figure of where the key phrases stand."""

import numpy as np
import pytest

from drawings import VARIANTS, N, texts
from library.figures.example_tables import placement_table
from library.figures.examples import drawn, figure_of


def test_bars_are_shares_with_exact_ends_apart():
    figure = drawn("placement")
    assert len(figure.axes) == len(VARIANTS) - 1  # in the original, phrases stand where they stood
    before, after = figure.axes[0].containers  # front
    heights = [bar.get_height() for bar in after]
    np.testing.assert_allclose(heights[:2], [75, 25])
    assert sum(heights) == pytest.approx(100)
    assert before[0].get_height() == pytest.approx(100 / N)  # one phrase stood at exactly 0
    assert figure.axes[1].containers[1][-1].get_height() == 100  # end
    assert "left out (1 phrase)" in texts(figure)


def test_a_variant_without_phrases_says_so():
    assert "no key phrases" in texts(figure_of("placement", {"placement": placement_table(VARIANTS[:3])}))


def test_variants_of_which_none_was_written_have_empty_panels():
    table = placement_table(VARIANTS).filter(variant="original")
    assert texts(figure_of("placement", {"placement": table})).count("no key phrases") == len(VARIANTS) - 1
