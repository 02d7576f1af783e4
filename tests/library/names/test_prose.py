from math import nan

import pytest
from jinja2 import UndefinedError

from conftest import ROOT
from homogenization.names.prose import grouped, interval, is_decided, listed, write
from homogenization.tables.catalogue import _ENTRIES

ROW = {"estimate": 0.25, "ci_low": -0.1, "ci_high": 0.5, "kl": 0.75, "kl_low": 0.5, "kl_high": 1.0}


def test_blanks_and_line_ends_in_a_row_are_one_blank():
    assert write("{% if n > 1 %}\n  {{ n }}\n  reviews\n{% endif %}\n\nare  read.", n=2) == "2 reviews are read."
    assert write("{# nothing to say #}\n") == ""


def test_numbers_are_written_as_in_tables():
    assert write("{{ -0.0123456 | significant }}, {{ 0.031 | share }}, {{ interval(row) }}", row=ROW) == (
        "−0.0123, 3.1 %, 0.25 [−0.1, 0.5]"
    )
    assert write("{{ 'none' if row.kl is not finite }}{{ row is decided('kl') }}", row=ROW) == "True"
    assert write("{{ 'the KL' | sentence }}, {{ 'The KL' | plain }}") == "The KL, the KL"


def test_what_a_template_lacks_is_an_error():
    with pytest.raises(UndefinedError, match="'reviews' is undefined"):
        write("{{ reviews }} reviews")


@pytest.mark.parametrize(
    ("name", "words", "decided"), [("estimate", "0.25 [−0.1, 0.5]", False), ("kl", "0.75 [0.5, 1]", True)]
)
def test_an_interval_that_leaves_out_0_decides(name, words, decided):
    assert interval(ROW, name) == words
    assert is_decided(ROW, name) == decided
    assert interval(ROW | {f"{name}_low": nan, "ci_low": nan}, name) == words.partition(" [")[0]


@pytest.mark.parametrize(
    ("names", "words"), [([], ""), (["a"], "a"), (["a", "b", "a"], "a or b"), (["a", "b", "c"], "a, b or c")]
)
def test_a_list_in_words(names, words):
    assert listed(names, "or") == words


def test_what_is_said_together_keeps_its_order():
    found = grouped(["bb", "a", "ba", "b"], lambda word: word[0], len)
    assert found == {"b": {2: ["bb", "ba"], 1: ["b"]}, "a": {1: ["a"]}}
    assert list(found["b"]) == [2, 1]


def test_every_template_belongs_to_tables():
    templates = {path.stem for path in (ROOT / "workflow/report/answers").glob("*.jinja")}
    assert templates == {tables.words for tables in _ENTRIES} - {""} | {"models"}  # of the first page


def test_the_number_of_texts_is_told_where_it_is_small():
    assert write("{{ where_few([13, 7, 60]) }}|{{ where_few([7, 7]) }}|{{ where_few([16]) }}|{{ where_few([]) }}") == (
        "7 to 60 texts|7 texts||"
    )
