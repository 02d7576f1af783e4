"""Variants by rules: where phrases go, what is kept, and how controls match."""

import re
from collections import Counter
from itertools import pairwise

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from homogenization.corpus.cleaning import clean_text
from homogenization.corpus.sentences import sentence_spans, words
from homogenization.variants.keyphrases import key_phrases
from homogenization.variants.parsing import parse_reviews
from homogenization.variants.phrases import Phrase, Placement, overlap, phrases_by_review
from homogenization.variants.rules import kept_places, move_by_rules, moving_phrases, others_like, rewrite_reviews
from homogenization.variants.schemas import VARIANT_SCHEMA
from homogenization.variants.sentences import is_closed, sentences_of
from moving import PACKAGE, moved, phrases_of, unrelated

UNTIDY = (r"\w [,;](?= |$)", r",\s*,", r"\(\s*\)", r"[,;]\s*[.!?](?= |$)", r"(^|[.!?] )[,;]", r"\(\s*,")
FINAL_STOP = re.compile(r"[.!?…][\"')\]*]*$")


def test_placements_tell_where_each_phrase_stood_and_stands():
    text = "The zombie is very slow. Boring."
    phrases = phrases_of(text, "zombie", "slow", "boring")
    _, placements = move_by_rules(unrelated(text), phrases, "end")
    assert [(p.phrase, p.sentence, p.original_position, p.position) for p in placements] == [
        ("zombie", 0, 0.25, 0.75),
        ("slow", 0, 1.0, 1.0),
        ("boring", 1, None, None),
    ]
    kept = kept_places(text, phrases)
    assert [p.original_position for p in kept] == [p.position for p in kept] == [0.25, 1.0, None]


PIECES = ["Zombie", "DVD", "zombie", "light-hearted", "plot", "don't", "boys'", "'80s", "$20", "and/or", "straße"]
MARKS = ["", "", "", "", *",.!?;:)&\"'", "...", "--", '."', ".)", ",)", " -", " &", " ,"]
OPENERS = ["", "", "", "", *"(\"'[-*", "..."]
TEXTS = st.lists(st.tuples(st.sampled_from(OPENERS), st.sampled_from(PIECES), st.sampled_from(MARKS)), max_size=25)


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


@given(TEXTS, st.lists(st.sampled_from(PIECES), max_size=4), st.sampled_from(["front", "end"]))
def test_any_text_keeps_its_words_and_phrases_go_where_they_should(pieces, terms, position):
    text = clean_text(" ".join("".join(piece) for piece in pieces))
    sentences, scores = unrelated(text), {" ".join(words(term)): 1.0 for term in terms}
    phrases = [place for place, _ in key_phrases(text, scores, 9) if not sentences[place.sentence].stays]
    moving = moving_phrases(sentences, phrases, "key")
    for options in ({"position": position}, {"position": "inward", "like": position}):
        variant, placements = move_by_rules(sentences, phrases, **options)
        check(text, variant, placements, moving, options["position"])


@pytest.mark.parametrize(
    ("text", "terms", "front", "end"),
    [
        ("The zombie sang; it ran.", ["zombie", "ran"], "Zombie ran the sang; it.", "The sang; it zombie ran."),
        # of marks that meet, one is left, and none leads
        ("We saw ghosts, zombies, and mummies.", ["zombies"], "Zombies we saw ghosts, and mummies.", None),
        ("Frankly, it bored me.", ["frankly"], "Frankly, it bored me.", "It bored me frankly."),
        ("It drags - badly - throughout.", ["badly"], "Badly it drags - throughout.", "It drags - throughout badly."),
        ("Is it a classic?", ["classic"], "Classic is it a?", "Is it a classic?"),
        ("...and then zombies came!", ["zombies"], "...zombies and then came!", "...and then came zombies!"),
        # a quote or bracket around the phrase alone goes with it
        ('I saw "Jaws" twice.', ["jaws"], '"Jaws" I saw twice.', 'I saw twice "Jaws".'),
        ('I saw "Jaws."', ["jaws"], '"Jaws" I saw.', 'I saw "Jaws."'),
        ("Is there a cafe' around here?", ["cafe"], "Cafe' is there a around here?", "Is there a around here cafe'?"),
        ("The boy (Jake) hides.", ["jake"], "(Jake) the boy hides.", "The boy hides (Jake)."),
        ('He plays in "The Fly."', ["plays"], 'Plays he in "The Fly."', 'He in "The Fly" plays.'),
        ("(A dull film indeed.)", ["film"], "(Film a dull indeed.)", None),
        ("It stars Sammy Davis Jr.", ["sammy"], "Sammy it stars Davis Jr.", "It stars Davis Jr Sammy."),
        ("Well , well . . . fine !? The zombie won.", ["zombie"], "Well , well . . . fine !? Zombie the won.", None),
        # capitals
        ("I'm a zombie.", ["zombie"], "Zombie I'm a.", None),
        ("BBC zombies came.", ["zombies"], "Zombies BBC came.", None),
        ("Meg met zombies. I like Meg.", ["zombies"], "Zombies Meg met. I like Meg.", None),
        ("Watching zombies is fun.", ["zombies"], "Zombies watching is fun.", None),
        ("i like zombies.", ["zombies"], "zombies i like.", None),
        ("It is on eBay.", ["ebay"], "eBay it is on.", None),
    ],
)
def test_marks_and_capitals_stay_tidy(text, terms, front, end):
    assert moved(text, "front", *terms) == front
    assert end in (None, moved(text, "end", *terms))


VARIANTS = {
    "front": {"position": "front"},
    "end": {"position": "end"},
    "front-inward": {"position": "inward", "like": "front"},
    "end-inward": {"position": "inward", "like": "end"},
    "front-other": {"position": "front", "phrases": "other"},
    "end-other": {"position": "end", "phrases": "other"},
}


@pytest.fixture(scope="module")
def written(embedded, real):
    """The variants of embedded and of real reviews, by name."""
    some = {"embedded": ("front", "end", "front-inward", "front-other", "end-other"), "real": VARIANTS}
    return {
        kind: {name: rewrite_reviews(*source, name, "rules", **VARIANTS[name]) for name in some[kind]}
        for kind, source in (("embedded", embedded), ("real", real))
    }


@pytest.mark.parametrize("reviews", ["embedded", "real"])
def test_real_reviews_stay_tidy(reviews, request, written):
    clean, keyphrases, parse = request.getfixturevalue(reviews)
    found = phrases_by_review(keyphrases)
    sentences = dict(zip(clean["review_id"], sentences_of(clean["text"], parse), strict=True))
    ends = Counter()
    for variant_name, variants in written[reviews].items():
        chosen = VARIANTS[variant_name]
        for name, text, variant, placed in zip(
            clean["review_id"], clean["text"], variants["text"], variants["placements"], strict=True
        ):
            moving = moving_phrases(sentences[name], found.get(name, []), chosen.get("phrases", "key"))
            check(text, variant, [Placement(**place) for place in placed], moving, chosen["position"])
            assert "  " not in variant
            assert not FINAL_STOP.search(text) or FINAL_STOP.search(variant)
            for untidy in UNTIDY:
                ends[untidy] += len(re.findall(untidy, variant)) > len(re.findall(untidy, text))
            assert not is_closed(text) or is_closed(variant)
    assert not +ends


def displacement(variants):
    placed = variants.explode("placements").drop_nulls("placements").unnest("placements")
    return placed.select((pl.col("position") - pl.col("original_position")).abs()).to_series().mean()


def bigrams_kept(texts, variants):
    """The share of pairs of neighbouring words that the variants keep."""
    pairs = [[Counter(pairwise(words(text))) for text in both] for both in zip(texts, variants, strict=True)]
    return sum((one & two).total() for one, two in pairs) / sum(one.total() for one, _ in pairs)


@pytest.mark.parametrize("edge", ["front", "end"])
def test_controls_are_matched_on_real_reviews(real, written, edge):
    clean, moved = real[0], written["real"][edge]
    inward, other = (written["real"][f"{edge}-{control}"] for control in ("inward", "other"))
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


def test_a_review_does_not_depend_on_its_shard(embedded, written):
    clean, keyphrases, _ = embedded
    reviews = clean[10:20].reverse()
    parse = parse_reviews(reviews, PACKAGE)
    for name in ("front", "front-inward", "end-other"):
        whole = written["embedded"][name]
        part = rewrite_reviews(reviews, keyphrases, parse, name, "rules", **VARIANTS[name])
        assert part.reverse().equals(whole[10:20])
        assert whole.schema == VARIANT_SCHEMA
        assert set(whole["variant"]) == {name}
    original = rewrite_reviews(clean, keyphrases, None, "original", "none")
    assert original["text"].equals(clean["text"])
    assert original["placements"].list.len().sum() == len(keyphrases)


def phrase(start, n_words=1, sentence=0):
    return Phrase(" ".join(["w"] * n_words), sentence, start, start + 2 * n_words - 1)


def test_each_key_phrase_gets_the_other_phrase_that_fits():
    keys, places = [phrase(0, 2), phrase(40)], [0.0, 0.9]
    pool = [phrase(10), phrase(20, 2), phrase(30), phrase(60)]
    assert others_like(keys, places, pool, [0.1, 0.2, 0.5, 0.8]) == [pool[1], pool[3]]


@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(1, 4), st.floats(0, 1)), max_size=6),
    st.lists(st.tuples(st.integers(100, 200), st.integers(1, 4), st.floats(0, 1)), max_size=20),
)
def test_others_lie_apart_and_are_no_more_than_key_phrases(keys, pool):
    key_phrases, others = ([phrase(start, length) for start, length, _ in given] for given in (keys, pool))
    chosen = others_like(key_phrases, [place for *_, place in keys], others, [place for *_, place in pool])
    assert len(chosen) <= len(keys)
    assert set(chosen) <= set(others)
    assert not any(overlap(one, two) for one, two in pairwise(chosen))
    if len(chosen) < len(keys):  # nothing is left that lies apart
        assert all(any(overlap(other, taken) for taken in chosen) for other in others)
