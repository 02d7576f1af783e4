"""Rewriting by a language model: what becomes of its answers, and the texts that are taken."""

import json
from dataclasses import asdict

import polars as pl
import pytest

from homogenization.variants.llm_rewriting import find_again, judge, rewrite_with_llm
from homogenization.variants.rules import move_by_rules
from homogenization.variants.schemas import CANDIDATE_SCHEMA, KEYPHRASE_SCHEMA, VARIANT_SCHEMA
from homogenization.writers.asking import Answer, Author
from moving import moved, phrases_of, unrelated
from scripted import Scripted

TERMS = ("zombie", "plot", "clever", "cast")
TEXTS = {
    f"review-{number}": f"We saw a zombie in film number{number} eat. Its plot is clever, and so is its cast. A zombie!"
    for number in range(5)
}
PROMPT = {"version": 3, "system": "", "user": "Phrases:\n$phrases\n---\n$review"}


def answer(text):
    return json.dumps({"review": text})


def in_front(text):
    """A rewriting that passes: what the rules make of the review."""
    return answer(moved(text, "front", *TERMS))


def run(folder, write):
    """The tables, and the writer, which answers by (review, answers to it before) or with a text that is no JSON."""
    shard = pl.DataFrame({"review_id": list(TEXTS), "text": list(TEXTS.values()), "label": [*"abcd", None]})
    places = [(name, place) for name, text in TEXTS.items() for place in phrases_of(text, *TERMS)]
    rows = [(name, place.term, 1.0, place.sentence, place.start, place.end) for name, place in places]
    phrases = pl.DataFrame(rows, KEYPHRASE_SCHEMA, orient="row")
    writer = Scripted(lambda text, n_before: write(text.partition("---\n")[2], n_before))
    author = Author(writer, PROMPT, 0, folder)
    return *rewrite_with_llm(shard, phrases, author, variant="v", position="front", n_candidates=3), writer


def test_every_review_is_rewritten_and_its_request_kept(tmp_path):
    variant, judged, writer = run(tmp_path, lambda text, _: in_front(text))
    assert (variant.schema, judged.schema) == (VARIANT_SCHEMA, CANDIDATE_SCHEMA)
    assert variant["text"].to_list() == [moved(text, "front", *TERMS) for text in TEXTS.values()]
    assert variant["label"].to_list() == [*"abcd", None]
    assert judged.select("review_id", "candidate", "reason").rows() == [(name, 0, None) for name in TEXTS]
    expected = move_by_rules(unrelated(TEXTS["review-0"]), phrases_of(TEXTS["review-0"], *TERMS), "front")[1]
    assert variant["placements"].to_list()[0] == [asdict(placement) for placement in expected]
    assert writer.asked[0][0]["content"].startswith("Phrases:\n- zombie\n- plot\n- clever\n- cast\n---\nWe saw")
    assert {path.stem for path in tmp_path.rglob("*.json")} == set(judged["request"])


def test_the_first_candidate_that_passes_is_taken_and_every_refusal_is_kept(tmp_path):
    def write(text, n_before):
        by_number = {
            "0": [answer(text), answer("A zombie with a plot."), in_front(text)],
            "1": [answer(moved(text, "end", *TERMS))] * 3,
            "2": ["length " + in_front(text), answer(" ... "), in_front(text)],
            "3": ["Sure!", '{"text": "fine"}', in_front(text)],
            "4": [in_front(text)],
        }
        return by_number[text.partition("number")[2][0]][n_before]

    variant, judged, _ = run(tmp_path, write)
    assert judged.group_by("review_id", maintain_order=True).agg("reason").rows() == [
        ("review-0", ["identical", "length", None]),
        ("review-1", ["position", "position", "position"]),
        ("review-2", ["truncated", "empty", None]),
        ("review-3", ["malformed", "malformed", None]),
        ("review-4", [None]),
    ]
    passed = judged.filter(pl.col("reason").is_null())
    assert passed.select("review_id", "text").equals(variant.select("review_id", "text"))
    assert judged["request"].n_unique() == len(judged)


def test_a_shard_in_which_nothing_passes_goes_on_and_says_why(tmp_path, caplog):
    variant, _, _ = run(tmp_path, lambda *_: answer("Short."))
    assert (variant.is_empty(), variant.schema) == (True, VARIANT_SCHEMA)
    assert "none of the 5 reviews" in caplog.text


REVIEW = "We saw a slow zombie eat. The plot is clever but thin, and the cast is fine."
OF_REVIEW = ("slow zombie", "plot", "clever", "cast")
FRONT = "Slow zombie was what we saw eat. Plot and clever cast, though thin, were here seen as fine."
AT_THE_END = "What we saw there eat was a slow zombie. Thin and fine are the plot, the cast and clever."
TEN = {"terms": (), "review": "One two three four five six seven eight nine ten."}
FIVE = {"terms": ("zombie", "plot", "cast", "clever", "loud")}
FIVE["review"] = "Zombie eats zombie. Plot, cast, clever, loud zombie."


def judged(text, position=None, terms=OF_REVIEW, review=REVIEW):
    return judge(Answer(answer(text), "stop"), review, phrases_of(review, *terms), position)


def test_what_a_candidate_is_measured_by():
    candidate, placements = judged(f"\n{FRONT.replace('. ', '.<br /><br />').replace(' ', '  ')} ", "front")
    assert (candidate["reason"], candidate["text"], candidate["coverage"]) == (None, FRONT, 1)
    # 0 of 5 in the first sentence; 0, 2 and 3 of 10 other words in the second
    assert candidate["distance"] == pytest.approx((0 + 0 + 2 / 10 + 3 / 10) / 4)
    assert candidate["length_ratio"] == pytest.approx(18 / 17)
    assert [placement.phrase for placement in placements] == ["slow zombie", "plot", "clever", "cast"]


@pytest.mark.parametrize(
    ("text", "given", "reason", "measured"),
    [
        ("we saw a SLOW zombie eat; the plot is clever, but thin! And the cast is fine", {}, "identical", {}),
        # the bounds of length are allowed
        ("word " * 6, TEN, None, {"length_ratio": 0.6, "coverage": 1, "distance": None}),
        ("word " * 15, TEN, None, {}),
        ("word " * 16, TEN, "length", {"length_ratio": 1.6}),
        # coverage counts distinct phrases
        ("A zombie, a plot, a cast, a clever end.", FIVE, None, {"coverage": 0.8}),
        ("Zombie, zombie, zombie, plot, cast.", FIVE, "coverage", {"coverage": 0.6}),
        # a phrase that is its whole sentence has no distance
        ("Zombie! It is dull.", {"position": "end", "terms": ("zombie",), "review": "A zombie is so dull."}, None, {}),
        (AT_THE_END, {"position": "end"}, None, {}),
        (AT_THE_END, {"position": "front"}, "position", {}),
        (["a", "film"], {}, "malformed", {}),
    ],
)
def test_each_filter_refuses_what_breaks_it(text, given, reason, measured):
    candidate, _ = judged(text, **given)
    assert candidate["reason"] == reason
    assert candidate.items() >= measured.items()


@pytest.mark.parametrize(
    ("terms", "rewritten", "expected"),
    [
        # only the very words, in one piece, within one sentence
        (["slow zombie"], "Slow, zombie eats.", []),
        (["slow zombie"], "It is slow. Zombie eats.", []),
        (["slow zombie"], "The slow zombie's lunch.", []),
        (["slow zombie"], "SLOW   ZOMBIE eats.", [("slow zombie", 1, 0.0)]),
        # marks around a phrase are no part of it, with a space or without
        (["zombie"], "So—zombie—eats.", [("zombie", 1, 0.5)]),
        # the first place for the first, and none for more than there are
        (["eat"], "Eat what I eat.", [("eat", 0, 0.0), ("eat", 1, 1.0)]),
        # no word serves two phrases
        (["slow zombie", "zombie"], "The slow zombie.", [("slow zombie", 1, 1.0)]),
    ],
)
def test_what_counts_as_found_again(terms, rewritten, expected):
    original = "Will it eat? I saw a slow zombie eat. The zombie met Dr. Jones here."
    placements = find_again(original, phrases_of(original, *terms), rewritten)
    assert [(placement.phrase, placement.sentence, placement.position) for placement in placements] == expected
