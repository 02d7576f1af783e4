"""Parsed reviews, which tests of key phrases and of variants share."""

from pathlib import Path

import pytest

from homogenization.config.texts import Parser
from homogenization.corpus.cleaning import clean_reviews
from homogenization.corpus.reading import read_reviews
from homogenization.variants.parsing import parse_reviews

EMBEDDED = Path(__file__).parents[3] / "config" / "reviews.jsonl"


@pytest.fixture(scope="session")
def embedded():
    """Embedded reviews, cleaned, and their parse."""
    clean = clean_reviews(read_reviews(str(EMBEDDED), "text", "label")).head(40)
    return clean, parse_reviews(clean, Parser().params())


@pytest.fixture(scope="session")
def real(imdb):
    """Real reviews, cleaned, and their parse."""
    clean = clean_reviews(read_reviews(str(imdb), "text", "label")).head(60)
    return clean, parse_reviews(clean, Parser().params())
