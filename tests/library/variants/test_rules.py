"""Variants by rules: where phrases go, what is kept, and how controls match."""

import re
from collections import Counter
from itertools import pairwise

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from homogenization.corpus.cleaning import clean_text
from homogenization.corpus.sentences import sentence_spans, words
from homogenization.run.errors import HomogenizationError
from homogenization.variants import rules
from homogenization.variants.constituents import parsed_sentences
from homogenization.variants.frequencies import count_document_frequencies
from homogenization.variants.keyphrases import candidates, extract_keyphrases
from homogenization.variants.phrases import Placement, phrases_by_review
from homogenization.variants.positions import POSITIONS
from homogenization.variants.rules import keep_text, move_by_rules, moving_phrases, rewrite_reviews
from homogenization.variants.schemas import VARIANT_SCHEMA
from homogenization.variants.scorers import tfidf_scorer
from moving import moved, phrases_of
from unparsed import unparsed

FINAL_STOP = re.compile(r"[.!?…][\"')\]*]*$")
CLOSING = {")": "(", "]": "[", "}": "{"}


def balanced(text):
    waiting = []
    for character in text:
        if character in "([{":
            waiting.append(character)
        elif character in CLOSING and (not waiting or waiting.pop() != CLOSING[character]):
            return False
    return not waiting


def scattered(text, phrases, seed, name):
    return move_by_rules(unparsed(text), phrases, "scattered", seed=seed, name=name)


def test_scattered_is_seeded_by_review_and_sentence():
    text = "one two three four five six seven eight nine zombie. " * 3
    text = clean_text(text)
    phrases = phrases_of(text, "zombie")
    first, again = (scattered(text, phrases, 0, "a")[0] for _ in range(2))
    assert first == again
    assert len(set(first.split(". "))) > 1
    assert first != scattered(text, phrases, 1, "a")[0]
    assert first != scattered(text, phrases, 0, "b")[0]


def test_scattered_places_are_uniform():
    text = "He saw a zombie there."
    phrases = phrases_of(text, "zombie")
    found = Counter(scattered(text, phrases, seed, "a")[1][0].position for seed in range(1000))
    assert sorted(found) == [0, 0.25, 0.5, 0.75, 1]
    assert all(150 < count < 250 for count in found.values())


def test_placements_tell_where_each_phrase_stood_and_stands():
    text = "The zombie is very slow. Boring."
    phrases = phrases_of(text, "zombie", "slow", "boring")
    _, placements = move_by_rules(unparsed(text), phrases, "end")
    assert [(p.phrase, p.sentence, p.original_position, p.position) for p in placements] == [
        ("zombie", 0, 0.25, 0.75),
        ("slow", 0, 1.0, 1.0),
        ("boring", 1, None, None),
    ]
    same, kept = keep_text(text, phrases)
    assert same == text
    assert [p.original_position for p in kept] == [p.position for p in kept] == [0.25, 1.0, None]


PIECES = [
    "zombie",
    "Zombie",
    "light-hearted",
    "plot",
    "DVD",
    "don't",
    "Meg",
    "boys'",
    "'80s",
    "$20",
    "and/or",
    "straße",
]
MARKS = [
    "",
    "",
    "",
    "",
    ",",
    ".",
    "!",
    "?",
    "...",
    ";",
    ":",
    " -",
    "--",
    ")",
    '"',
    "'",
    '."',
    ".)",
    ",)",
    "&",
    " &",
    " ,",
]
OPENERS = ["", "", "", "", "(", '"', "'", "[", "...", "-", "*"]
TEXTS = st.lists(st.tuples(st.sampled_from(OPENERS), st.sampled_from(PIECES), st.sampled_from(MARKS)), max_size=25)


def chosen_phrases(text, picks):
    """Some candidates of `text`, none overlapping."""
    found, end = [], 0
    for place, pick in zip(candidates(text, (1, 3)), picks, strict=False):
        if pick and place.start >= end:
            found.append(place)
            end = place.end
    return found


def check(text, variant, placements, phrases, position):
    assert Counter(words(variant)) == Counter(words(text))
    assert [placement.phrase for placement in placements] == [phrase.term for phrase in phrases]
    by_sentence = {}
    for placement in placements:
        by_sentence.setdefault(placement.sentence, []).append(placement)
    for number, (start, end) in enumerate(sentence_spans(text)):
        total = len(words(text[start:end]))
        lengths = [len(placement.phrase.split()) for placement in by_sentence.get(number, [])]
        before = 0 if position == "front" else total - sum(lengths)
        for placement, length in zip(by_sentence.get(number, []), lengths, strict=True):
            if position in ("front", "end") and length < total:
                assert placement.position == before / (total - length)
            assert placement.position is None or 0 <= placement.position <= 1
            before += length


@settings(max_examples=300, deadline=None)
@given(TEXTS, st.lists(st.booleans(), max_size=80), st.sampled_from(sorted(POSITIONS)), st.integers(0, 3))
def test_any_text_keeps_its_words_and_phrases_go_where_they_should(pieces, picks, position, seed):
    text = clean_text(" ".join("".join(piece) for piece in pieces))
    phrases = [phrase for phrase in chosen_phrases(text, picks) if not unparsed(text)[phrase.sentence].stays]
    variant, placements = move_by_rules(unparsed(text), phrases, position, seed=seed, name="a")
    check(text, variant, placements, phrases, position)
    inward, placements = move_by_rules(unparsed(text), phrases, "inward", like="front")
    check(text, inward, placements, phrases, "inward")
    for made in (variant, inward):
        if balanced(text):
            assert balanced(made)
        for tidy in (r"\(\s*\)", r"\[\s*\]", r",\s*,"):
            assert len(re.findall(tidy, made)) <= len(re.findall(tidy, text))


VARIANTS = [
    {"position": "front"},
    {"position": "end"},
    {"position": "scattered"},
    {"position": "inward", "like": "front"},
    {"position": "front", "phrases": "other"},
]


def keyphrases_of(clean, parse):
    score = tfidf_scorer(count_document_frequencies(clean["text"], 2), len(clean))
    return extract_keyphrases(clean, parse, score, 8, (1, 3))


@pytest.mark.parametrize("reviews", ["embedded", "real"])
def test_real_reviews_stay_tidy(reviews, request):
    clean, parse = request.getfixturevalue(reviews)
    keyphrases = keyphrases_of(clean, parse)
    found, sentences = phrases_by_review(keyphrases), parsed_sentences(clean, parse)
    ends = Counter()
    for chosen in VARIANTS:
        variants = rewrite_reviews(clean, keyphrases, parse, "moved", "rules", **chosen)
        for name, text, variant, placed in zip(
            clean["review_id"], clean["text"], variants["text"], variants["placements"], strict=True
        ):
            moving = moving_phrases(sentences[name], found.get(name, []), chosen.get("phrases", "key"))
            check(text, variant, [Placement(**place) for place in placed], moving, chosen["position"])
            assert "  " not in variant
            assert not FINAL_STOP.search(text) or FINAL_STOP.search(variant)
            for untidy in (
                r"\w [,;](?= |$)",
                r",\s*,",
                r"\(\s*\)",
                r"[,;]\s*[.!?](?= |$)",
                r"(^|[.!?] )[,;]",
                r"\(\s*,",
            ):
                ends[untidy] += len(re.findall(untidy, variant)) > len(re.findall(untidy, text))
            assert not balanced(text) or balanced(variant)
    assert not +ends


def displacement(variants):
    placed = variants.explode("placements").drop_nulls("placements").unnest("placements")
    return placed.select((pl.col("position") - pl.col("original_position")).abs()).to_series().mean()


def bigrams_kept(texts, variants):
    """The share of pairs of neighbouring words that the variants keep."""
    pairs = [[Counter(pairwise(words(text))) for text in both] for both in zip(texts, variants, strict=True)]
    return sum((one & two).total() for one, two in pairs) / sum(one.total() for one, _ in pairs)


@pytest.mark.parametrize("edge", ["front", "end"])
def test_controls_are_matched_on_real_reviews(real, edge):
    clean, parse = real
    keyphrases = keyphrases_of(clean, parse)
    moved, inward, other = (
        rewrite_reviews(clean, keyphrases, parse, "moved", "rules", **chosen)
        for chosen in ({"position": edge}, {"position": "inward", "like": edge}, {"position": edge, "phrases": "other"})
    )
    assert displacement(inward) == pytest.approx(displacement(moved), rel=0.05)
    assert displacement(other) == pytest.approx(displacement(moved), rel=0.08)
    assert other["placements"].list.len().sum() == pytest.approx(moved["placements"].list.len().sum(), rel=0.02)
    for control in (inward, other):
        kept = bigrams_kept(clean["text"], control["text"])
        assert kept == pytest.approx(bigrams_kept(clean["text"], moved["text"]), abs=0.03)
    for key, others in zip(moved["placements"], other["placements"], strict=True):
        assert not {(place["sentence"], place["phrase"]) for place in key} & {
            (place["sentence"], place["phrase"]) for place in others if place["phrase"] not in ("it", "he", "she")
        }


def test_a_review_does_not_depend_on_its_shard(embedded):
    clean, parse = embedded
    keyphrases = keyphrases_of(clean, parse)
    for chosen in VARIANTS[2:]:
        whole = rewrite_reviews(clean, keyphrases, parse, "moved", "rules", **chosen)
        part = rewrite_reviews(clean[10:20].reverse(), keyphrases, parse, "moved", "rules", **chosen)
        assert part.reverse().equals(whole[10:20])
    assert whole.columns == ["variant", "review_id", "text", "label", "placements"]
    assert whole.schema == VARIANT_SCHEMA
    assert set(whole["variant"]) == {"moved"}
    original = rewrite_reviews(clean, keyphrases, None, "original", "none")
    assert original["text"].equals(clean["text"])
    assert original.schema == whole.schema
    placements = original.explode("placements").unnest("placements")
    assert placements["original_position"].equals(placements["position"].alias("original_position"), null_equal=True)


def test_unknown_positions_are_named():
    with pytest.raises(HomogenizationError, match=r"'middle' is unknown.*front, end, scattered, inward"):
        moved("A zombie.", "middle", "zombie")


def test_a_rewriter_that_loses_words_is_caught(monkeypatch):
    monkeypatch.setattr(rules, "keep_text", lambda text, phrases: (text[:5], []))
    reviews = pl.DataFrame({"review_id": ["a"], "text": ["A long zombie."], "label": ["0"]})
    none = pl.DataFrame(schema={"review_id": str, "phrase": str, "sentence": int, "start": int, "end": int})
    with pytest.raises(RuntimeError, match="changed the words"):
        rewrite_reviews(reviews, none, None, "original", "none")
