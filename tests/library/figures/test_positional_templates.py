"""The figure of the templates of positional attention."""

import numpy as np
import pytest

from drawings import line, texts
from homogenization.measures.positional import CELLS, DICTIONARY
from library.figures.example_tables import attention_table, templates_table
from library.figures.examples import drawn, figure_of


def test_curves_run_from_the_first_key_to_the_query_itself():
    axes = drawn("positional_templates").axes[0]
    assert [tick.get_text() for tick in axes.get_xticklabels()] == [
        "first", "second", "−7–8", "−5–6", "−4", "−3", "−2", "−1", "0",
    ]  # fmt: skip
    places = [0, 1, 8, 7, 6, 5, 4, 3, 2]  # in the order of the cells
    for block in (1, 3, 4, 6):
        values = line(axes, f"block {block}").get_ydata()
        np.testing.assert_allclose(values, [block + place for place in places])
    assert axes.get_xlabel() == "Key, for queries 64 to 127"


def test_weights_are_stacked_to_one():
    bars = drawn("positional_templates").axes[1].containers
    assert len(bars) == len(DICTIONARY)
    assert [bar.get_y() + bar.get_height() for bar in bars[-1]] == pytest.approx([1] * 6)


def test_attention_received_is_over_uniform_in_the_same_blocks():
    axes = drawn("positional_templates").axes[2]
    for block in (1, 3, 4, 6):
        np.testing.assert_allclose(line(axes, f"block {block}").get_ydata(), 2.0 ** (block / 6))


def test_an_encoder_has_keys_behind_the_query_and_a_model_without_attention_says_so():
    figure = figure_of("positional_templates", {"templates": templates_table({"beta": 4}, CELLS)})
    labels = [tick.get_text() for tick in figure.axes[0].get_xticklabels()]
    assert labels[0] == "first"
    assert {"0", "−257 …"} & set(labels)
    assert labels[-1].startswith("+")
    tables = {"templates": templates_table({"beta": 4}), "attention": attention_table({"alpha": 6})}
    assert "no attention" in texts(figure_of("positional_templates", tables))
