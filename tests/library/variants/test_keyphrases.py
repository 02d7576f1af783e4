"""Key phrases: how words weigh, which places count, and that no position does."""

import math
from itertools import pairwise
from random import Random

import polars as pl
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from homogenization.corpus.sentences import sentence_spans, words
from homogenization.run.errors import HomogenizationError
from homogenization.variants.given import given_variant
from homogenization.variants.keyphrases import (
    content_words,
    extract_keyphrases,
    given_keyphrases,
    key_phrases,
    tfidf,
    weigh_words,
)
from homogenization.variants.parsing import parse_reviews
from homogenization.variants.phrases import is_content, phrases_by_review, term_of
from homogenization.variants.schemas import KEYPHRASE_SCHEMA
from moving import PACKAGE


@pytest.mark.parametrize(
    ("text", "terms", "expected"),
    [
        ("King of Rome, king. Of Rome!", ["king of rome"], [0]),
        ("Of a king. Of Rome, of Rome", ["king of rome", "of rome"], [11, 20]),
        ('a "great" film, (film)!', ["great", "film"], [3, 10, 17]),
        ("and/or film.The film", ["film", "or"], [16]),
        ("light-hearted light", ["light", "hearted"], [14]),
        ("a great, film", ["great film"], []),
    ],
)
def test_places_are_whole_words_with_spaces_between_in_one_sentence(text, terms, expected):
    assert [place.start for place, _ in key_phrases(text, dict.fromkeys(terms, 1.0), 9)] == expected


def test_better_phrases_come_first_and_then_longer_ones_and_the_alphabet():
    text = "Zebra runs. Apple falls. Mouse, apple."
    scores = dict.fromkeys(("zebra", "zebra runs", "apple", "mouse"), 1.0)
    chosen = [(place.term, place.start) for place, _ in key_phrases(text, scores, 2)]
    assert chosen == [("zebra runs", 0), ("apple", 12), ("apple", 32)]


def test_weights_and_scores_are_those_of_scikit_learn(embedded):
    texts = embedded[0]["text"].to_list()
    oracle = TfidfVectorizer(analyzer=content_words, norm=None, sublinear_tf=True).fit(texts)
    idf = dict(weigh_words(texts).iter_rows())
    for row, text in zip(oracle.transform(texts[:5]).toarray(), texts, strict=False):
        terms = [" ".join(pair) for pair in pairwise(words(text))]
        for term, value in tfidf(text, terms, idf).items():
            summed = sum(row[oracle.vocabulary_[word]] for word in content_words(term))
            assert math.isclose(value, summed, rel_tol=1e-12)


def test_a_word_of_a_single_review_counts_where_it_is_repeated():
    texts = ["Zombie zombie attack.", "A zombie film.", "An attack of Tianxia: misspeling tianxia. \u0130z, \u0130z."]
    idf = dict(weigh_words(texts).iter_rows())
    scores = tfidf(texts[2], ["attack", "tianxia", "misspeling", "attack of tianxia", term_of("\u0130z")], idf)
    assert set(scores) == {"attack", "tianxia", "attack of tianxia", "i\u0307z"}  # which words() would split
    assert scores["tianxia"] == pytest.approx((1 + math.log(2)) * (1 + math.log(4 / 2)))
    assert scores["attack of tianxia"] == pytest.approx(scores["attack"] + scores["tianxia"])


@pytest.mark.parametrize("reviews", ["embedded", "real"])
def test_phrases_are_literal_apart_and_within_the_limits(reviews, request):
    clean, table, _ = request.getfixturevalue(reviews)
    assert table.schema == KEYPHRASE_SCHEMA
    assert table["score"].min() > 0
    for name, text in clean.select("review_id", "text").iter_rows():
        places, spans = phrases_by_review(table).get(name, []), sentence_spans(text)
        assert len({place.term for place in places}) <= 8
        assert all(before.end <= after.start for before, after in pairwise(places))
        for place in places:
            assert words(text[place.start : place.end]) == place.term.split()
            assert len(place.term.split()) <= 3
            assert is_content(place.term)
            assert spans[place.sentence][0] <= place.start < place.end <= spans[place.sentence][1]


def test_permuted_sentences_hold_the_same_phrases_and_a_larger_sample_changes_no_review(embedded):
    clean, table, _ = embedded
    some, weights = clean.head(20), weigh_words(clean["text"].to_list())
    few = extract_keyphrases(some, parse_reviews(some, PACKAGE), weights, 8)
    assert few.equals(table.filter(pl.col("review_id").is_in(some["review_id"].to_list())))
    shuffled = []
    for number, text in enumerate(some["text"]):
        sentences = [text[slice(*span)] for span in sentence_spans(text)]
        Random(number).shuffle(sentences)
        shuffled.append(" ".join(sentences))
    other = some.with_columns(text=pl.Series(shuffled))
    again = extract_keyphrases(other, parse_reviews(other, PACKAGE), weights, 8)
    counts = [one.group_by("review_id", "phrase", "score").len().sort(pl.all()) for one in (few, again)]
    assert counts[0].equals(counts[1])


def test_phrases_of_a_column_are_taken_in_their_order_and_absent_ones_told(caplog):
    texts = ["A slow zombie eats. Slow zombie!", "A clever plot.", "Nothing."]
    phrases = ["Slow Zombie; eats; zombie eats;; hero", "plot; dull", None]
    reviews = pl.DataFrame({"review_id": ["a", "b", "c"], "text": texts, "phrases": phrases})
    table = given_keyphrases(reviews, "phrases", 8)
    found = [("a", "slow zombie", 1.0, 0), ("a", "eats", 0.5, 0), ("a", "slow zombie", 1.0, 1), ("b", "plot", 1.0, 0)]
    assert table.select("review_id", "phrase", "score", "sentence").rows() == found
    assert "review a: no place for zombie eats, hero of the column 'phrases'" in caplog.text
    given_keyphrases(reviews[:2], "phrases", 1)  # what stands behind those that are taken was not looked for
    assert caplog.text.count("no place") == 2


def test_texts_of_a_column_are_cleaned_and_blank_ones_left_out():
    cells = ["A  <b>zombie</b> &amp; friends.", " ", None]
    reviews = pl.DataFrame({"review_id": ["a", "b", "c"], "text": ["x"] * 3, "label": ["1"] * 3, "mine": cells})
    made = given_variant(reviews, "front", "mine")
    assert made.rows() == [("front", "a", "A zombie & friends.", "1", [])]
    assert given_variant(reviews, "same", "text")["text"].to_list() == ["x"] * 3
    with pytest.raises(HomogenizationError, match=r"variants\.front\.column 'mien' .*did you mean 'mine'"):
        given_variant(reviews, "front", "mien")
    with pytest.raises(HomogenizationError, match=r"keyphrases\.column 'mien' is no column"):
        given_keyphrases(reviews, "mien", 8)
