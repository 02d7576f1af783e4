"""The figures of consequences: harm against likeness, probes and shifts by depth."""

import numpy as np

from drawings import line, texts
from library.figures.examples import drawn, tables_of


def test_points_are_conditions_and_placebos_are_open():
    figure = drawn("harm")
    weak, strong = (curve for curve in figure.axes[0].lines if curve.get_label() == "first")
    removed, masked, random = (line(figure.axes[0], name) for name in ("removed", "masked first", "masked random"))
    table = tables_of("harm")["harm"].filter(model="alpha")
    for first, row in zip(
        (weak, strong),
        table.filter(kind="steering", pattern="first").sort("strength").iter_rows(named=True),
        strict=True,
    ):
        np.testing.assert_allclose(first.get_xydata(), [[row["cosine"], row["kl"]]])
    assert weak.get_markersize() < strong.get_markersize()
    assert removed.get_markerfacecolor() == random.get_markerfacecolor() == "white"
    assert "white" not in (weak.get_markerfacecolor(), masked.get_markerfacecolor())
    written = texts(figure)
    assert "placebo: nowhere (removed)" in written
    assert "another token took over the sink" in written
    assert "no next token" in written
