"""The gate: each thing that a rewriting can break is told by its name, and natural orders pass."""

import re

import pytest

from conftest import ROOT
from homogenization.config.texts import Parser
from homogenization.names.variants import CONSTRUCTIONS
from homogenization.variants.gate import Gate, kept_pairs, moved_adjunct, objections
from homogenization.variants.refusals import REASONS
from homogenization.writers.prompts import load_prompt

SENTENCE = "Without a doubt, the first film of this old town is the best one that I have ever seen with my brother."


@pytest.fixture(scope="module")
def gate(one_parser):
    return Gate(Parser().params())


def objected(gate, original, text, way=None):
    return objections(gate.parse(original), gate.parse(text), way)


def examples():
    """Of each way, the two sentences by which the prompt explains it."""
    system = load_prompt(ROOT / "config/prompts/sentence-constructions.yaml")["system"]
    return re.findall(r"- (\w+),.*\n +(.*) / (.*)", system)


def test_the_prompt_explains_every_way_by_an_example_that_passes(gate):
    assert [way for way, *_ in examples()] == list(CONSTRUCTIONS)
    assert {way: objected(gate, *pair, way) for way, *pair in examples()} == {way: [] for way in CONSTRUCTIONS}


def test_only_adjuncts_move_and_no_word_comes_where_no_construction_is_named(gate):
    assert {way: objected(gate, *pair) for way, *pair in examples()} == {
        **{way: [] for way in CONSTRUCTIONS},
        "slifting": ["adjunct"],
        "wh_cleft": ["added", "adjunct"],
        "as_for": ["added", "adjunct"],
        "copula": ["adjunct"],
        "passive": ["added", "adjunct"],
    }


@pytest.mark.parametrize(
    ("reason", "old", "new"),
    [
        ("malformed", "old town", '"old town'),
        ("length", "the first film of this old town", "it"),
        *(("lost", f"{word} ", "") for word in ("first", "ever")),
        ("lost", "the best one that", "the best that"),
        ("lost", "my brother", "the brother"),
        ("repeated", "the best one", "the best best one"),
        ("added", "with my brother", "with my good brother"),
        (
            "adjunct",
            "the first film of this old town is the best one",
            "the best one is the first film of this old town",
        ),
        ("chunks", "first film", "film first"),
    ],
)
def test_what_a_candidate_breaks_is_told(gate, reason, old, new):
    assert old in SENTENCE
    assert reason in objected(gate, SENTENCE, SENTENCE.replace(old, new))


@pytest.mark.parametrize(
    ("original", "text"),
    [
        ("It was the best film of the year.", "Of the year, it was the best film."),
        ("I saw the man who wrote it last year.", "Who wrote it, I saw the man last year."),
    ],
)
def test_what_hangs_on_a_noun_does_not_leave_it(gate, original, text):
    assert "detached" in objected(gate, original, text, "copula")


def test_swapped_roles_are_told_by_the_parse(gate):
    original = "The old dog chased the small cat in the garden."
    text = "The small cat chased the old dog in the garden."
    assert sorted(original.lower()) == sorted(text.lower())
    assert objected(gate, original, text, "copula") == ["parse"]
    assert kept_pairs(gate.parse(original), gate.parse(text)) == pytest.approx(7 / 9)


def test_a_phrase_moves_with_its_adjunct(gate):
    sentence = gate.parse("Watch this now if you like horror movies.")
    move = moved_adjunct(sentence, "If you like horror movies, watch this now.")
    assert (move.words[0], move.before, move.behind) == ("if", 0, 3)
    positions = ("front", "end", "inward", None)
    assert [position for position in positions if move.puts("horror movies", position)] == ["front", None]
    assert not move.puts("this", "front")
    assert moved_adjunct(sentence, "If you like horror movies, watch that now.") is None
    assert moved_adjunct(sentence, sentence.text) is None


def test_the_gate_gives_the_first_objection_and_counts_it(gate):
    sentence = gate.parse(SENTENCE)
    assert gate(sentence, "The first film of this old town.") == "length"
    assert gate(sentence, SENTENCE.replace("Without a doubt, the", "The").replace(".", ", without a doubt.")) is None
    assert gate.refused == {"length": 1}


def test_objections_are_reasons_in_their_order(gate):
    found = objected(gate, SENTENCE, '"Seen a film film with this town')
    assert len(found) > 5
    assert found == sorted(found, key=REASONS.index)
