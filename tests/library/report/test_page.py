from math import nan

import pytest
from jinja2 import UndefinedError

from homogenization.report.page import grouped, interval, listed, render

ROW = {"estimate": 0.25, "ci_low": -0.1, "ci_high": 0.5}


def test_values_are_escaped_and_what_a_template_lacks_is_an_error():
    assert render("{{ 0.031 | share }} of {{ name }}", name="<b>") == "3.1 % of &lt;b&gt;"
    with pytest.raises(UndefinedError, match="'reviews' is undefined"):
        render("{{ reviews }} reviews")


def test_an_estimate_has_its_interval_if_there_is_one():
    assert interval(ROW) == "0.25 [−0.1, 0.5]"
    assert interval(ROW | {"ci_low": nan}) == "0.25"


@pytest.mark.parametrize(
    ("names", "words"), [([], ""), (["a"], "a"), (["a", "b", "a"], "a and b"), (["a", "b", "c"], "a, b and c")]
)
def test_a_list_in_words(names, words):
    assert listed(names) == words


def test_what_is_said_together_keeps_its_order():
    found = grouped(["bb", "a", "ba", "b"], lambda word: word[0], len)
    assert found == {"b": {2: ["bb", "ba"], 1: ["b"]}, "a": {1: ["a"]}}
    assert list(found["b"]) == [2, 1]
