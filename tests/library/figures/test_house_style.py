"""What every figure keeps to, drawn of its example."""

import pytest

from drawings import as_svg, require_axis_labels, require_house_style
from homogenization.figures.catalogue import FIGURES
from library.figures.examples import drawn, example, figure_of, require_refusal, tables_of


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_keeps_the_house_style(name):
    require_house_style(drawn(name), example(name).size)
    if example(name).labelled:
        require_axis_labels(drawn(name))


@pytest.mark.parametrize("name", FIGURES)
def test_two_drawings_are_the_same_file(name):
    assert as_svg(drawn(name)) == as_svg(figure_of(name))


@pytest.mark.parametrize("name", [name for name in FIGURES if example(name).refusal])
def test_an_empty_table_is_refused(name):
    table, rows = next(iter(tables_of(name).items()))
    require_refusal(name, example(name).refusal, {table: rows.clear()})
