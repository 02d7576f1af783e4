"""The figure of the templates of positional attention."""

from functools import cache

import numpy as np
import polars as pl
import pytest

from drawings import (
    BLOCKS,
    N,
    attention_table,
    line,
    positional_table,
    require_axis_labels,
    require_house_style,
    require_refusal,
    shown,
    texts,
)
from homogenization.figures.positional_templates import draw
from homogenization.measures.position_cells import CAUSAL_CELLS, CELLS, DICTIONARY


def templates_table(blocks=BLOCKS, cells=CAUSAL_CELLS[:9]):
    """Rows of tables/templates.parquet: the attention of a cell is its block and number over uniform attention."""
    rows = [
        (model, variant, block, block / n_blocks, query_bin, cell, n, 0.01 * (block + place), 0.01)
        for model, n_blocks in blocks.items()
        for variant in ("original", "front")
        for block in range(1, n_blocks + 1)
        for query_bin, n in ((5, 100), (6, 300), (7, 200))
        for place, cell in enumerate(cells)
    ]
    columns = ["model", "variant", "block", "depth", "query_bin", "cell", "n_queries", "attention", "uniform"]
    return pl.DataFrame(rows, schema=columns, orient="row")


def figure_of(templates, **fields):
    tables = {"templates": templates, "positional": positional_table(), "attention": attention_table()}
    return draw(tables, shown(**fields))


@cache
def drawn():
    return figure_of(templates_table())


def test_it_keeps_the_house_style():
    require_house_style(drawn(), f"n = {N} reviews")
    require_axis_labels(drawn())


def test_curves_run_from_the_first_key_to_the_query_itself():
    axes = drawn().axes[0]
    assert [tick.get_text() for tick in axes.get_xticklabels()] == [
        "first", "second", "−7–8", "−5–6", "−4", "−3", "−2", "−1", "0",
    ]  # fmt: skip
    places = [0, 1, 8, 7, 6, 5, 4, 3, 2]  # in the order of the cells
    for block in (1, 3, 4, 6):
        values = line(axes, f"block {block}").get_ydata()
        np.testing.assert_allclose(values, [block + place for place in places])
    assert axes.get_xlabel() == "Key, for queries 64 to 127"


def test_weights_are_stacked_to_one():
    bars = drawn().axes[1].containers
    assert len(bars) == len(DICTIONARY)
    assert [bar.get_y() + bar.get_height() for bar in bars[-1]] == pytest.approx([1] * 6)


def test_attention_received_is_over_uniform_in_the_same_blocks():
    axes = drawn().axes[2]
    for block in (1, 3, 4, 6):
        np.testing.assert_allclose(line(axes, f"block {block}").get_ydata(), 2.0 ** (block / 6))


def test_an_encoder_has_keys_behind_the_query_and_a_model_without_attention_says_so():
    figure = figure_of(templates_table({"beta": 4}, CELLS))
    labels = [tick.get_text() for tick in figure.axes[0].get_xticklabels()]
    assert labels[0] == "first"
    assert {"0", "−257 …"} & set(labels)
    assert labels[-1].startswith("+")
    tables = {"templates": templates_table({"beta": 4}), "positional": positional_table()}
    without = draw({**tables, "attention": attention_table({"alpha": 6})}, shown())
    assert "no attention" in texts(without)


def test_an_empty_table_is_refused():
    empty = {"templates": templates_table().clear(), "positional": positional_table(), "attention": attention_table()}
    require_refusal(draw, empty, shown(), "templates of attention")
