import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from homogenization.corpus.cleaning import clean_reviews, clean_text
from homogenization.run.errors import HomogenizationError


@pytest.mark.parametrize(
    ("dirty", "clean"),
    [
        ("Good.<br /><br />Bad.", "Good. Bad."),
        ("one<BR>two<br/>three", "one two three"),
        ("Tom &amp; Jerry &quot;live&quot;", 'Tom & Jerry "live"'),
        ("Tom &amp;amp; Jerry", "Tom & Jerry"),
        (f"Tom &{'amp;' * 20} Jerry", "Tom & Jerry"),  # escaped again and again
        ("a " + "<b" * 40 + ">" * 40 + " z", "a z"),
        ("a &lt;br /&gt; b", "a b"),
        ("<i>Jaws</i> was <b class='x'>great</b>", "Jaws was great"),
        ("cafe\u0301", "caf\u00e9"),
        ("it\x92s fine \x96 really\x85", "it\u2019s fine \u2013 really\u2026"),
        ("It\u201a\u00c4\u00f4s a caf\u221a\u00a9.", "It\u2019s a caf\u00e9."),  # UTF-8 as MacRoman
        ("\u00e2\u20ac\u0153Jos\u00c3\u00a9\u00e2\u20ac\x9d", "\u201cJos\u00e9\u201d"),  # UTF-8 as Windows-1252
        ("A M\u00e1quina \x96 O Combust\u00edvel", "A M\u00e1quina \u2013 O Combust\u00edvel"),
        ("zero\u200bwidth, soft\u00adhyphen\ufeff\x00", "zerowidth, softhyphen"),
        ("tabs\tand\u00a0more \n\n lines ", "tabs and more lines"),
        ("I <3 this, 2 < 3 > 1 <sarcasm> a < b <b-movie>", "I <3 this, 2 < 3 > 1 <sarcasm> a < b <b-movie>"),
        ("<!DOCTYPE html><style>p {}</style><h1>Top<!-- a > b\n --></h1>x<script a>1 < 2</script>", "Top x"),
        ('<table><tr><td>a</td><td>b<sup>2</sup></td></tr></table><img src="c.png"/><code>d</code>', "a b2 d"),
    ],
)
def test_cleaning(dirty, clean):
    assert clean_text(dirty) == clean


@given(
    st.text() | st.lists(st.sampled_from(["&", "amp;", "lt;", "<br", " />", "<i>", "\x85", "e", "\u0301"])).map("".join)
)
def test_cleaning_twice_changes_nothing(text):
    once = clean_text(text)
    assert clean_text(once) == once
    assert once == " ".join(once.split())


def test_duplicates_count_once_after_cleaning_and_order_does_not_matter():
    texts = ["Good film.", "Good<br />film.", "Bad film.", "Good  film.", "Good film."]
    rows = pl.DataFrame({"row": range(5), "text": texts, "label": ["b", "a", "b", "c", "a"]})
    clean = clean_reviews(rows)
    assert sorted(clean["text"]) == ["Bad film.", "Good film."]
    assert clean.filter(text="Good film.").select("label", "row").row(0) == ("a", 1)
    assert clean["n_words"].to_list() == [2, 2]
    assert clean_reviews(rows.reverse()).equals(clean)
    assert clean_reviews(rows.with_columns(id=pl.col("row") + 7))["id"].to_list() == (clean["row"] + 7).to_list()


def test_what_cleaning_leaves_out_is_told_and_that_all_is_left_out_refused(caplog):
    texts = ["good film", "Good film", None, "<p></p>", "good film", "a bad one"]
    raw = pl.DataFrame({"row": range(6), "text": texts, "label": ["a", "a", "a", "a", "b", None]})
    assert len(clean_reviews(raw)) == 2
    assert "2 reviews of 6 rows are left after cleaning (3 without words or a label, 1 duplicates)" in caplog.text
    with pytest.raises(HomogenizationError, match="none of the 2 rows"):
        clean_reviews(raw[2:4])
