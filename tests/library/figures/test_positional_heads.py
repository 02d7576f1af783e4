"""The heat map of how positional each head is."""

from functools import cache

import numpy as np
import pytest

from drawings import (
    HEADS,
    LONG,
    N,
    line,
    named,
    positional_mass,
    positional_table,
    require_axis_labels,
    require_house_style,
    require_refusal,
    require_room,
    shown,
)
from homogenization.figures.positional_heads import draw


@cache
def drawn():
    return draw({"positional": positional_table()}, shown())


def test_it_keeps_the_house_style():
    require_house_style(drawn(), f"n = {N} reviews")
    require_axis_labels(drawn())


def test_cells_are_heads_from_the_first_block_upwards():
    mass, ratio = (np.asarray(axes.collections[0].get_array()).reshape(6, HEADS) for axes in drawn().axes[:2])
    np.testing.assert_allclose(mass, [[positional_mass(block, head, 6) for head in (1, 2, 3)] for block in range(1, 7)])
    np.testing.assert_allclose(ratio, mass / 2)


def test_lines_are_means_over_the_heads_of_a_block():
    axes = drawn().axes[2]
    for variant in ("original", "front"):
        assert line(axes, variant).get_xdata() == pytest.approx([block / 6 * 2 / 3 for block in range(1, 7)])
        assert list(line(axes, variant).get_ydata()) == list(range(1, 7))
    assert line(axes, "null").get_xdata() == pytest.approx([0.01] * 6)


def test_models_that_were_not_read_are_left_out_and_long_names_fit():
    table = positional_table({LONG: 2}, ("front",))
    figure = draw({"positional": table}, shown(models=named([LONG, "other"])))
    assert len(figure.axes) == 4  # with the colour bar
    require_room(figure)


def test_an_empty_table_is_refused():
    require_refusal(draw, {"positional": positional_table().clear()}, shown(), "positional attention")
