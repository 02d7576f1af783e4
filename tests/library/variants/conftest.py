"""Parsed reviews and their key phrases, which tests of key phrases and of variants share."""

from functools import cache
from pathlib import Path

import polars as pl
import pytest
import spacy

from homogenization.corpus.cleaning import clean_reviews
from homogenization.corpus.reading import read_reviews
from homogenization.variants.keyphrases import extract_keyphrases, weigh_words
from homogenization.variants.parsing import parse_reviews
from homogenization.variants.sentences import sentences_of
from moving import PACKAGE

EMBEDDED = Path(__file__).parents[3] / "config" / "reviews.jsonl"


@pytest.fixture(scope="session", autouse=True)
def one_parser():
    """Each pipeline of spaCy is loaded once."""
    loaded, load = cache(lambda package: load(package, exclude=["lemmatizer"])), spacy.load
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spacy, "load", lambda package, exclude: loaded(package))
        yield


@pytest.fixture(scope="session")
def parsed(one_parser):
    """texts by name -> the parsed sentences of each."""

    def sentences(texts):
        reviews = pl.DataFrame({"review_id": list(texts), "text": list(texts.values())})
        return dict(zip(texts, sentences_of(reviews["text"], parse_reviews(reviews, PACKAGE)), strict=True))

    return sentences


def with_parse_and_key_phrases(path, n):
    clean = clean_reviews(read_reviews(str(path), "text", "label")).head(n)
    parse, weights = parse_reviews(clean, PACKAGE), weigh_words(clean["text"].to_list())
    return clean, extract_keyphrases(clean, parse, weights, max_phrases=8), parse


@pytest.fixture(scope="session")
def embedded(one_parser):
    """Embedded reviews, cleaned, their key phrases and their parse."""
    return with_parse_and_key_phrases(EMBEDDED, 40)


@pytest.fixture(scope="session")
def real(imdb, one_parser):
    """Real reviews, cleaned, their key phrases and their parse."""
    return with_parse_and_key_phrases(imdb, 60)
