"""Sentences that a strong writer moves by constructions that it names: from the script to a server on loopback."""

import json
import re

import polars as pl
import pytest

from bad_server import ENTRY, KEY, BadServer
from conftest import ROOT
from homogenization.config.texts import Parser
from homogenization.names.variants import CONSTRUCTIONS
from homogenization.variants.parsing import parse_reviews
from homogenization.variants.schemas import KEYPHRASE_SCHEMA
from homogenization.writers.prompts import load_prompt
from script import written_by_llm

NONE = {"way": "none", "phrase": "", "rewritten": ""}
LAST = "I saw this slow film with my old friends last winter."
# by review: the sentence, its key phrases (the best first), and what the writer answers
SCRIPT = {
    "good": (
        "You should watch this film if you like slow horror movies.",
        ("horror movies", "film"),
        {
            "way": "clause",
            "phrase": "Horror movies",
            "rewritten": "If you like slow horror movies, you should watch this film.",
        },
    ),
    "other phrase": (
        LAST,
        ("slow film", "winter"),
        {"way": "adjunct", "phrase": "winter", "rewritten": "Last winter I saw this slow film with my old friends!"},
    ),
    "none": ("Most of us lost the clever plot at once.", ("clever plot",), NONE),
    "short none": ("My friends liked the clever plot a lot.", ("clever plot",), {"way": "none"}),
    "in place": ("Horror movies make me very happy.", ("horror movies",), NONE),
    "wrong place": (
        "You must watch this film if you like slow horror movies.",
        ("horror movies",),
        {
            "way": "clause",
            "phrase": "horror movies",
            "rewritten": "This film you must watch if you like slow horror movies.",
        },
    ),
    "no json": ("You can watch this film if you like horror movies.", ("horror movies",), "Sure! If you like horror"),
    "unknown way": ("He watched a slow film in the old house.", ("old house",), {**NONE, "way": "magic"}),
    "unknown phrase": (
        "She watched a slow film in the old house.",
        ("old house",),
        {"way": "adjunct", "phrase": "the cellar", "rewritten": "In the old house, she watched a slow film."},
    ),
    "words lost": (
        "We all watched a very slow film in the old house.",
        ("old house",),
        {"way": "adjunct", "phrase": "old house", "rewritten": "In the old house, we all watched a slow film."},
    ),
    "nothing": ("They watched a slow film in the old house.", ("old house",), {**NONE, "way": "adjunct"}),
    "same": (
        "Everyone watched a slow film in the old house.",
        ("old house",),
        {"way": "adjunct", "phrase": "old house", "rewritten": "Everyone watched a slow film in the old house."},
    ),
}


@pytest.fixture(scope="module")
def rewritten(tmp_path_factory):
    """position -> the variant, its candidates, its sentences, and what the server was asked."""
    folder = tmp_path_factory.mktemp("named")
    reviews = pl.DataFrame({"review_id": list(SCRIPT), "text": [text for text, *_ in SCRIPT.values()], "label": "1"})
    rows = [
        (name, phrase, 1 / rank, 0, start := text.casefold().index(phrase), start + len(phrase))
        for name, (text, phrases, _) in SCRIPT.items()
        for rank, phrase in enumerate(phrases, start=1)
    ]
    keyphrases = pl.DataFrame(rows, KEYPHRASE_SCHEMA, orient="row").sort("start", maintain_order=True)
    given = {"shard": reviews, "keyphrases": keyphrases, "parse": parse_reviews(reviews, Parser().params())}
    params = {
        "protocol": "json",
        "gate": Parser().params(),
        "filters": {"candidates": 4, "length_ratio": [0.6, 1.5], "min_f1": None, "min_moved": 0.5},
        "prompt": load_prompt(ROOT / "config/prompts/sentence-constructions.yaml"),
    }

    def write(message, candidate):
        answer = next(answer for text, _, answer in SCRIPT.values() if text in message)
        return answer if isinstance(answer, str) else json.dumps(answer)

    def rewritten(position):
        with BadServer(write) as server, pytest.MonkeyPatch.context() as patch:
            patch.setenv("TEST_API_KEY", KEY)
            writer = {
                "module": "writers.endpoint",
                "writer": ENTRY | {"base_url": server.base_url, "max_new_tokens": 100},
            }
            tables = written_by_llm(folder / position, given, params | writer | {"position": position})
        return *tables.values(), server.received

    return rewritten


@pytest.fixture(scope="module")
def in_front(rewritten):
    return rewritten("front")


def test_good_answers_are_taken_and_all_other_sentences_stay(in_front):
    variant, *_ = in_front
    assert dict(variant.select("review_id", "text").iter_rows()) == {
        "good": "If you like slow horror movies, you should watch this film.",
        "other phrase": "Last winter I saw this slow film with my old friends.",
    }


def test_each_answer_is_judged_by_the_first_reason_that_applies(in_front):
    _, candidates, sentences, _ = in_front
    assert dict(candidates.select("review_id", "reason").iter_rows()) == {
        "good": None,
        "other phrase": None,
        "none": "declined",
        "short none": "declined",
        "wrong place": "position",
        "no json": "malformed",
        "unknown way": "malformed",
        "unknown phrase": "coverage",
        "words lost": "lost",
        "nothing": "empty",
        "same": "identical",
    }
    of = {row["review_id"]: row for row in sentences.to_dicts()}
    assert (of["in place"]["outcome"], of["none"]["outcome"], of["none"]["reason"]) == ("in_place", "kept", "declined")
    assert (of["good"]["phrase"], of["other phrase"]["phrase"]) == ("horror movies", "winter")
    named = dict(candidates.select("review_id", "construction").iter_rows())
    assert (named["good"], named["other phrase"], named["none"]) == ("clause", "adjunct", None)


def test_one_request_a_sentence_gives_the_phrases_in_their_order_and_asks_for_one_form(in_front):
    *_, received = in_front
    assert len(received) == len(SCRIPT) - 1
    asked = {body["messages"][-1]["content"]: body for body in received}
    (message,) = [message for message in asked if LAST in message]
    assert "- slow film\n- winter\n" in message
    assert message.endswith("It has to stand at the beginning of the sentence.")
    schema = asked[message]["response_format"]["json_schema"]["schema"]
    assert schema["required"] == ["way", "phrase", "rewritten"]
    assert schema["properties"]["way"]["enum"] == [*CONSTRUCTIONS, "none"]
    assert not re.search("title|default", json.dumps(schema))


def test_the_same_answer_does_not_stand_at_the_other_end(rewritten):
    _, candidates, *_ = rewritten("end")
    reasons = dict(candidates.select("review_id", "reason").iter_rows())
    assert (reasons["other phrase"], reasons["none"]) == ("position", "declined")
