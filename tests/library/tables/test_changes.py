"""What rewriting changed, and which reviews a comparison has."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import example_table
from homogenization.tables.comparisons import (
    comparisons_table,
    same_texts,
    too_few_of_all,
)
from homogenization.tables.similarity import SIMILARITY_SCHEMA, changes_of_reviews, sentence_counts
from homogenization.variants.schemas import VARIANT_SCHEMA

ORIGINALS = pl.DataFrame(
    {"review_id": ["a", "b"], "text": ["The old house burns. We left.", "Nothing happens at all."]}
)
CURE = "Longer texts, keyphrases.min_document_frequency: 1 or a larger keyphrases.max_phrases change more"


def placed(sentence, before, after):
    return {"phrase": "house", "sentence": sentence, "original_position": before, "position": after}


def rewritten(variant, **reviews):
    rows = [(variant, name, text, None, placements) for name, (text, placements) in reviews.items()]
    return pl.DataFrame(rows, schema=VARIANT_SCHEMA, orient="row")


def test_words_in_their_order_decide_whether_a_text_changed():
    """Capitals and punctuation do not; a review without key phrases has no sentence that could change."""
    variants = [
        rewritten("front", a=("House the old burns. We left.", [placed(0, 0.5, 0.0)]), b=(ORIGINALS["text"][1], [])),
        rewritten("end", a=("the old house, burns. We left!", [placed(0, 1.0, 1.0)])),
    ]
    table = changes_of_reviews(ORIGINALS, variants, {"front": "front", "end": "end"})
    counts = ("n_sentences", "n_sentences_moved", "n_sentences_in_place", "n_sentences_not_moved")
    assert table.select("variant", "review_id", "changed", *counts).rows() == [
        ("front", "a", True, 1, 1, 0, 0),
        ("front", "b", False, 0, 0, 0, 0),
        ("end", "a", False, 1, 0, 1, 0),
    ]
    hashes = table["words_hash"]
    assert hashes.n_unique() == 3
    again = changes_of_reviews(ORIGINALS, [rewritten("end", a=("The old house burns; we left.", []))], {})
    assert again["words_hash"][0] == hashes[2]


@pytest.mark.parametrize(
    ("placements", "edge", "counts"),
    [
        ([], 0.0, (0, 0, 0, 0)),
        ([placed(0, 0.5, 0.0), placed(1, 0.0, 0.0), placed(2, 0.5, 0.5)], 0.0, (3, 1, 1, 1)),
        ([placed(0, 0.0, 0.0), placed(0, 1.0, 0.5)], 0.0, (1, 1, 0, 0)),  # one of two phrases moved
        ([placed(0, 0.0, 0.0), placed(0, 0.25, 0.25)], 0.0, (1, 0, 1, 0)),  # the second stands behind the first
        ([placed(0, 1.0, 1.0)], 0.0, (1, 0, 0, 1)),  # at the other edge
        ([placed(0, 1.0, 1.0)], None, (1, 0, 0, 1)),  # no edge to stand at
        ([placed(0, None, None)], 0.0, (1, 0, 0, 1)),  # the phrase is the sentence
    ],
)
def test_sentences_moved_in_place_and_not_moved(placements, edge, counts):
    assert sentence_counts(placements, edge) == counts


@given(
    st.lists(st.tuples(st.integers(0, 3), *[st.none() | st.sampled_from([0.0, 0.5, 1.0])] * 2)),
    st.sampled_from([None, 0.0, 1.0]),
)
def test_every_sentence_is_counted_once(places, edge):
    n, *parts = sentence_counts([placed(*place) for place in places], edge)
    assert n == sum(parts) == len({sentence for sentence, *_ in places})


def similarity(**hashes):
    """Accepted texts of each variant: a letter for each review; `o` is as the original."""
    names = [
        (variant, f"r{number:02d}", text) for variant, texts in hashes.items() for number, text in enumerate(texts)
    ]
    variants, reviews, texts = zip(*names, strict=True)
    changed = [text != "o" for text in texts]
    columns = {"variant": variants, "review_id": reviews, "words_hash": texts, "changed": changed}
    return example_table(SIMILARITY_SCHEMA, accepted=True, **columns)


def test_a_comparison_has_the_reviews_whose_texts_differ():
    """A review that changed in one of two variants differs; one that changed alike in both does not."""
    table = similarity(front="aaaaoooo", inward="bbaoooob")
    pairs = [("front", "original"), ("original", "inward"), ("front", "inward"), ("inward", "front")]
    rows = comparisons_table(table, pairs, 8, 4).select("n_accepted", "n_changed", "share_changed", "tested").rows()
    assert rows == [(8, 4, 0.5, True), (8, 4, 0.5, True), (8, 4, 0.5, True), (8, 4, 0.5, True)]
    assert same_texts(table, "front", "inward")["review_id"].sort().to_list() == ["r02", "r04", "r05", "r06"]
    assert same_texts(table, "front", "typo").is_empty()
    rejected = table.with_columns(accepted=pl.col("review_id") != "r02")
    assert same_texts(rejected, "front", "inward")["review_id"].sort().to_list() == ["r04", "r05", "r06"]


def test_too_few_changed_texts_are_not_compared_and_the_cure_is_named():
    table = similarity(front="a" * 3 + "o" * 17, end="b" * 4 + "o" * 16, inward="a" * 3 + "c" * 9 + "o" * 8)
    pairs = [("front", "original"), ("front", "end"), ("front", "inward"), ("inward", "original")]
    assert comparisons_table(table, pairs, 20, 10)["reason"].to_list() == [
        f"17 of 20 texts are as the original; at least 10 have to differ. {CURE}",
        f"16 of 20 texts are the same in both; at least 10 have to differ. {CURE}",
        f"11 of 20 texts are the same in both; at least 10 have to differ. {CURE}",
        None,
    ]
    few = table.filter(pl.col("review_id") < "r03")  # too few are accepted, and all of these changed
    assert comparisons_table(few, pairs[:1], 20, 10)["reason"][0].startswith("3 of 20 reviews accepted;")


def test_a_number_of_all_texts_together_needs_nine_in_ten_that_differ():
    assert too_few_of_all(similarity(front="a" * 18 + "oo"), "front", "original") is None
    reason = too_few_of_all(similarity(front="a" * 17 + "ooo"), "front", "original")
    assert reason == (f"3 of 20 texts are as the original; of all texts together, at least 90 % have to differ. {CURE}")
    both = similarity(front="a" * 20, inward="a" * 3 + "b" * 17)
    assert "3 of 20 texts are the same in both;" in too_few_of_all(both, "front", "inward")
