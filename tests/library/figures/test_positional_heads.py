"""The heat map of how positional each head is."""

import numpy as np
import pytest

from drawings import line
from library.figures.examples import drawn


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
