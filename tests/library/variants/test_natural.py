"""Natural orders: which adjuncts move, what they leave, and that front and end share their sentences."""

import csv
from itertools import chain

import pytest

from conftest import ROOT
from homogenization.corpus.sentences import sentence_spans, words
from homogenization.variants.natural import move_naturally
from homogenization.variants.phrases import Phrase
from homogenization.variants.rules import rewrite_reviews

PAIRS = [
    ("If you like horror movies, watch this one.", "Watch this one if you like horror movies."),
    ("But when the film ends, I feel happy.", "But I feel happy when the film ends."),
    ("Although I like the cast, the plot is weak.", "The plot is weak, although I like the cast."),
    ("In the end, the killer is a ghost.", "The killer is a ghost, in the end."),
    ("After watching the movie, I changed my view.", "I changed my view after watching the movie."),
    ("Last year, I saw it.", "I saw it last year."),
    ("But if you like zombies, see my list.", "But see my list if you like zombies."),
    ("Unlike Tom Hanks, the director is weak.", "The director is weak, unlike Tom Hanks."),
]
DOUBTFUL = [
    "I wonder if you like horror movies.",  # the object of the verb
    "When the movie begins, it is slow.",  # a pronoun would come before its noun
    "I did not watch it because you like horror.",  # two readings
    "The story is about a man in the town.",  # a complement, and what belongs to a noun
    "He went to the cinema.",
    "Why do you watch it if you like horror?",
    "If you like horror, watch it; if you like drama, do not.",
    "The film was made in 1990 and won a prize.",  # at the end it would belong to the second verb
    "Because of the plot, this is a film that you should see.",  # at the end it would belong to the clause
    "I hate it when the music starts.",  # what "it" is
    "If you can find the plot, I'd love to know.",  # at the end, what is known
    "The crowd loved the film although the critics did not.",  # what they did not would come later
    "The film is good if only the plot made sense.",
    "The scene begins directly after we see the killer.",
    "She finds a friend, if you like.",  # a comment on the word
    "He was lucky though because you like zombies.",
    "If you have an open mind however, I recommend the film.",
    "Mickey had to wait until Who Framed Roger Rabbit made money.",  # a title
    "Neither did I until I watched this movie.",
    "They can't save the film without harm.",  # the negation would not reach it
    "In the 1990s, I only saw the film once.",  # "only" would reach it
    "At the same time, the plot is weak.",  # a contrast
    "It shows the cruelty of the soldiers in 1943.",  # it may belong to the soldiers
    "Save this film for a rainy day.",
    "It took me a long time.",  # an object
    "In the film the killer is a ghost.",  # without a comma, its end is uncertain
    "The tone is like a fairy tale, odd, since the film begins with a murder.",
    "The theme, for example, is one that you know.",  # at the end, beside another clause
    "I watched this movie after many years again.",
    "i saw it last year.",
]
KEYED = "The plot, in my opinion, is weak without question."
LATE = "Fine. I saw it last year."
MOVED = 180  # of the rated sentences


@pytest.fixture(scope="module")
def sentences(parsed):
    """The sentences of every text here, by the text."""
    return parsed({text: text for text in [*chain(*PAIRS), *DOUBTFUL, KEYED, LATE]})


@pytest.mark.parametrize(("front", "end"), PAIRS)
def test_two_natural_orders_are_each_others_variants(sentences, front, end):
    for text in (front, end):
        assert move_naturally(sentences[text], [], "front")[0] == front
        assert move_naturally(sentences[text], [], "end")[0] == end


@pytest.mark.parametrize("text", DOUBTFUL)
def test_a_sentence_in_doubt_stays_as_it_is(sentences, text):
    for position in ("front", "end"):
        assert move_naturally(sentences[text], [], position)[0] == text


def test_the_adjunct_with_a_key_phrase_moves_else_the_longest(sentences):
    start = KEYED.index("opinion")
    opinion = [Phrase("opinion", 0, start, start + len("opinion"))]
    assert move_naturally(sentences[KEYED], opinion, "front")[0] == "In my opinion, the plot is weak without question."
    assert move_naturally(sentences[KEYED], [], "front")[0] == "Without question, the plot, in my opinion, is weak."


def test_placements_tell_where_the_adjunct_stood_and_stands(sentences):
    _, (placement,) = move_naturally(sentences[LATE], [], "front")
    assert (placement.phrase, placement.sentence) == ("last year", 1)
    assert (placement.original_position, placement.position) == (1, 0)


def test_positions_share_sentences_words_and_all_else(embedded):
    clean, keyphrases, parse = embedded
    front, end = (
        rewrite_reviews(clean, keyphrases, parse, place, "natural", position=place) for place in ("front", "end")
    )
    placed = [table.explode("placements").drop_nulls("placements").unnest("placements") for table in (front, end)]
    assert len(placed[0]) > 2
    same = [of.select("review_id", "phrase", "sentence", "original_position") for of in placed]
    assert same[0].equals(same[1])
    assert (placed[0]["position"] < 0.5).all()
    assert (placed[1]["position"] == 1).all()
    for table in (front, end):
        for text, other, placements in zip(clean["text"], table["text"], table["placements"], strict=True):
            assert sorted(words(other)) == sorted(words(text))
            before, after = ([t[a:b] for a, b in sentence_spans(t)] for t in (text, other))
            changed = {n for n, (one, two) in enumerate(zip(before, after, strict=True)) if one != two}
            assert changed <= {place["sentence"] for place in placements}


def test_rated_sentences_move_as_when_they_were_rated(parsed):
    """Sentences of the sheets that readers filled in, and what each becomes; empty where it stays as it is."""
    with (ROOT / "tests/data/natural_orders.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    sentences = parsed({row["original"]: row["original"] for row in rows})
    for place in ("front", "end"):
        expected = {row["original"]: row[place] or row["original"] for row in rows}
        assert {text: move_naturally(sentences[text], [], place)[0] for text in expected} == expected
    assert sum(row["front"] != "" for row in rows) == MOVED
