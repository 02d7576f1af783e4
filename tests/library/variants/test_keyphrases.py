import math
from collections import Counter
from itertools import pairwise
from random import Random

import polars as pl
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from homogenization.config.texts import Parser
from homogenization.corpus.sentences import folded, is_stop_word, sentence_spans, words
from homogenization.run.errors import HomogenizationError
from homogenization.variants.constituents import parsed_sentences
from homogenization.variants.frequencies import count_document_frequencies
from homogenization.variants.keyphrases import candidates, content_candidates, extract_keyphrases, key_phrases
from homogenization.variants.parsing import parse_reviews
from homogenization.variants.phrases import overlap, phrases_by_review
from homogenization.variants.scorers import tfidf_scorer

NGRAMS = (1, 3)


def scorer_of(clean):
    return tfidf_scorer(count_document_frequencies(clean["text"], 2), len(clean))


def permuted(text, seed):
    sentences = [text[slice(*span)] for span in sentence_spans(text)]
    Random(seed).shuffle(sentences)
    return " ".join(sentences)


def terms(text):
    return [occurrence.term for occurrence in candidates(text, NGRAMS)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Light-hearted comedy, great fun.", "light-hearted, light-hearted comedy, comedy, great, great fun, fun"),
        ("The end of the world", "end, world"),
        ("king of rome", "king, king of rome, rome"),
        ('a "great" film', "great, film"),
        ("good - bad. Ugly", "good, bad, ugly"),
        ("Dr. Bock 12 times", "dr, dr bock, bock, bock 12 times, times"),
    ],
)
def test_candidates_cross_no_punctuation_and_have_no_stop_word_at_an_edge(text, expected):
    assert terms(text) == expected.split(", ")
    assert terms("and/or film.The") == []


def test_document_frequencies_count_reviews_not_places():
    texts = ["Zombie zombie attack.", "A zombie film.", "An attack of ghosts."]
    counted = dict(count_document_frequencies(texts, 1).iter_rows())
    assert counted == {"zombie": 2, "attack": 2, "film": 1, "ghosts": 1}
    assert set(dict(count_document_frequencies(texts, 2).iter_rows())) == {"zombie", "attack"}
    with pytest.raises(HomogenizationError, match="min_document_frequency"):
        count_document_frequencies(texts, 3)


def content_words(text):
    return [word for word in words(text) if not is_stop_word(word)]


def test_scores_are_those_of_scikit_learn(embedded):
    texts = embedded[0]["text"].to_list()
    oracle = TfidfVectorizer(analyzer=content_words, norm=None, sublinear_tf=True).fit(texts)
    expected = oracle.transform(texts[:5]).toarray()
    score = tfidf_scorer(count_document_frequencies(texts, 1), len(texts))
    for row, text in zip(expected, texts, strict=False):
        for term, value in score(text, Counter(terms(text))).items():
            summed = sum(row[oracle.vocabulary_[word]] for word in term.split() if not is_stop_word(word))
            assert math.isclose(value, summed, rel_tol=1e-12)


@pytest.mark.parametrize("reviews", ["embedded", "real"])
def test_phrases_are_literal_apart_and_chosen_with_all_their_places(reviews, request):
    clean, table, parse = request.getfixturevalue(reviews)
    parsed, found = parsed_sentences(clean, parse), phrases_by_review(table)
    assert table.columns == ["review_id", "phrase", "score", "sentence", "start", "end"]
    assert table["score"].min() > 0
    for name, text in clean.select("review_id", "text").iter_rows():
        places, spans = found.get(name, []), sentence_spans(text)
        chosen = {place.term for place in places}
        assert len(chosen) <= 8
        assert all(before.end <= after.start for before, after in pairwise(places))
        for place in places:
            literal = text[place.start : place.end]
            assert words(literal) == place.term.split()
            assert 1 <= len(place.term.split()) <= 3
            assert not is_stop_word(folded(literal.split()[0]))
            start, end = spans[place.sentence]
            assert start <= place.start < place.end <= end
        # unless a better phrase has a place
        for candidate in content_candidates(text, parsed[name], NGRAMS):
            if candidate.term in chosen:
                assert any(overlap(place, candidate) for place in places)


def test_most_key_phrases_are_more_than_one_word_and_none_is_a_verb_of_saying(real):
    found = real[1]["phrase"]
    assert (found.str.split(" ").list.len() > 1).mean() > 0.4  # .22 of literal runs
    assert not set(found) & {"said", "says", "told", "yep", "left", "gets", "bad"}


@pytest.mark.parametrize("reviews", ["embedded", "real"])
def test_permuted_sentences_hold_the_same_phrases_and_a_larger_sample_changes_no_review(reviews, request):
    clean, table, parse = request.getfixturevalue(reviews)
    names = clean["review_id"].to_list()[:25]
    some = clean.head(25)
    shuffled = some.with_columns(text=pl.Series([permuted(text, number) for number, text in enumerate(some["text"])]))
    again = extract_keyphrases(shuffled, parse_reviews(shuffled, Parser().package), scorer_of(clean), 8, NGRAMS)
    few = extract_keyphrases(some, parse, scorer_of(clean), 8, NGRAMS)
    assert few.equals(table.filter(pl.col("review_id").is_in(names)))
    one, other = (
        found.group_by("review_id", "phrase", "score").len().sort("review_id", "phrase") for found in (few, again)
    )
    assert one.equals(other)


def literal(text, scorer, max_phrases, ngram_range=NGRAMS):
    """Key phrases among all literal runs of words."""
    return key_phrases(text, candidates(text, ngram_range), scorer, max_phrases)


def test_ties_are_broken_by_length_and_alphabet():
    def flat(text, counts):
        return dict.fromkeys(counts, 1.0)

    found = {place.term for place, _ in literal("Zebra runs. Apple falls. Mouse.", flat, 2)}
    assert found == {"apple falls", "zebra runs"}


def test_a_rare_word_counts_where_it_is_repeated():
    texts = ["A good plot.", "A good film.", "A good cast."]
    score = tfidf_scorer(count_document_frequencies(texts, 2), 3)
    terms = Counter(["good", "tianxia", "misspeling", "good misspeling", "good tianxia"])
    scores = score("Good Tianxia, misspeling tianxia.", terms)
    assert set(scores) == {"good", "tianxia", "good tianxia"}
    assert scores["good tianxia"] == pytest.approx(scores["good"] + scores["tianxia"])
    assert scores["tianxia"] == pytest.approx((1 + math.log(2)) * (1 + math.log(4 / 2)))
