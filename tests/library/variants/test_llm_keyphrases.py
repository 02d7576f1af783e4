import json
import logging

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bad_server import ENTRY, BadServer
from homogenization.corpus.sentences import words
from homogenization.variants.keyphrases import candidates, key_phrases
from homogenization.variants.llm_keyphrases import KEY_PHRASES_SCHEMA, extract_keyphrases_with_llm, ranked_scorer
from homogenization.variants.schemas import KEYPHRASE_SCHEMA
from homogenization.writers.answers import Author, RequestStore
from homogenization.writers.endpoint import EndpointWriter

PROMPT = {"version": 1, "system": "At most $max_phrases.", "user": "$review"}
REVIEWS = pl.DataFrame(
    {
        "review_id": ["b", "a"],
        "text": ["The slow zombie eats. We like the slow zombie.", "A clever plot, and a clever cast."],
        "label": ["pos", "neg"],
    }
)


def extracted(server, folder, reviews=REVIEWS, max_phrases=3, n_candidates=2):
    writer = EndpointWriter({**ENTRY, "base_url": server.base_url, "max_retries": 0}, 0)
    author = Author(writer, RequestStore(folder), PROMPT)
    return extract_keyphrases_with_llm(reviews, author, max_phrases, (1, 3), n_candidates)


def listed(**by_word):
    """A server's answer: the phrases under the word that the review holds."""

    def write(message, candidate):
        return json.dumps({"key_phrases": next(phrases for word, phrases in by_word.items() if word in message)})

    return write


def test_places_and_scores_of_no_more_than_max_phrases(tmp_path):
    write = listed(zombie=["Slow Zombie", "eats", "like"], plot=["cast", "clever", "plot"])
    with BadServer(write) as server:
        table = extracted(server, tmp_path, max_phrases=2)
    assert table.schema == KEYPHRASE_SCHEMA
    assert table.rows() == [
        ("b", "slow zombie", 1.0, 0, 4, 15),
        ("b", "eats", 0.5, 0, 16, 20),
        ("b", "slow zombie", 1.0, 1, 34, 45),
        ("a", "clever", 0.5, 0, 2, 8),
        ("a", "clever", 0.5, 0, 21, 27),
        ("a", "cast", 1.0, 0, 28, 32),
    ]
    assert server.received[0]["response_format"]["json_schema"]["schema"] == KEY_PHRASES_SCHEMA
    assert server.received[0]["messages"][0] == {"role": "system", "content": "At most 2."}


def test_phrases_that_are_not_literal_are_dropped_and_counted(tmp_path, caplog):
    # another form, no phrase by its edges, across punctuation, not there at all, no words
    write = listed(zombie=["slow zombies", "the slow", "zombie"], plot=["plot and", "masterpiece", "", "clever plot"])
    with caplog.at_level(logging.INFO), BadServer(write) as server:
        table = extracted(server, tmp_path)
    assert set(table["phrase"]) == {"zombie", "clever plot"}
    assert "5 of 7 phrases were dropped" in caplog.text
    assert len(server.received) == 2


@pytest.mark.parametrize("fault", ["malformed", "empty", "null", "wrong_key"])
def test_an_unusable_answer_leads_to_the_next_candidate(tmp_path, fault):
    write = listed(zombie=["zombie"], plot=["plot"])
    with BadServer(write, {"zombie": [fault]}) as server:
        table = extracted(server, tmp_path)
        assert set(table["phrase"]) == {"zombie", "plot"}
        assert len({body["seed"] for body in server.received}) == 3
        assert extracted(server, tmp_path).equals(table)
    assert len(server.received) == 3


def test_a_review_without_a_usable_answer_goes_on_without_phrases(tmp_path, caplog):
    write = listed(zombie=["masterpiece"], plot=["plot"])
    with caplog.at_level(logging.WARNING), BadServer(write) as server:
        table = extracted(server, tmp_path, n_candidates=3)
    assert table["review_id"].unique().to_list() == ["a"]
    assert "review b: no key phrase in 3 answers" in caplog.text
    assert len(server.received) == 4


PIECES = ("slow", "zombie", "the", "Eats", "eats", "clever plot", "slow zombie eats", ",", "!", "ﬁne", "", "’s", "12")
TEXT = "The slow zombie eats. Eats, eats the clever plot! We like a slow zombie, and its clever plot."


@given(phrases=st.lists(st.lists(st.sampled_from(PIECES), max_size=4).map(" ".join)), max_phrases=st.integers(1, 4))
def test_whatever_is_listed_key_phrases_are_literal_and_never_overlap(phrases, max_phrases):
    chosen = key_phrases(TEXT, candidates(TEXT, (1, 3)), ranked_scorer(phrases), max_phrases)
    assert len({place.term for place, _ in chosen}) <= max_phrases
    terms = {" ".join(words(phrase)) for phrase in phrases}
    end = 0
    for place, score in chosen:
        assert place.start >= end
        end = place.end
        assert " ".join(words(TEXT[place.start : place.end])) == place.term
        assert place.term in terms
        assert 0 < score <= 1
    # better phrases come earlier in the list
    by_rank = [" ".join(words(phrase)) for phrase in phrases]
    ranked = sorted(chosen, key=lambda pair: -pair[1])
    assert [by_rank.index(place.term) for place, _ in ranked] == sorted(by_rank.index(p.term) for p, _ in ranked)
