"""Variants by constructions: which adjuncts move, what they leave, and that positions share their sentences."""

from collections import Counter

import polars as pl
import pytest

from homogenization.config.texts import Parser
from homogenization.corpus.cleaning import clean_reviews
from homogenization.corpus.reading import read_reviews
from homogenization.corpus.sentences import sentence_spans, words
from homogenization.names.variants import CONSTRUCTIONS as PLACES_OF
from homogenization.names.variants import KEEPING_WORDS
from homogenization.variants.construction_words import CHANGED
from homogenization.variants.constructions import CONSTRUCTIONS, move_by_constructions, ranked
from homogenization.variants.gate import Gate
from homogenization.variants.parsing import parse_reviews
from homogenization.variants.rules import rewrite_reviews
from homogenization.variants.schemas import KEYPHRASE_SCHEMA
from moving import phrase_in

PARSER = Parser().params()
EVERY = ("adjunct", "clause", "adverb")
REWORDING = ("slifting", "wh_cleft", "copula", "as_for", "passive")


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
# a sentence with the phrase at the front, one with it at the end
REWORDED = [
    ("slifting", "The guide gives this a bomb rating, I think.", "I think the guide gives this a bomb rating."),
    ("slifting", "But the ending is weak, it seems to me.", "But it seems to me the ending is weak."),
    ("wh_cleft", "The camera work was what made my head spin.", "What made my head spin was the camera work."),
    ("wh_cleft", "The music is what I like.", "What I like is the music."),
    ("copula", "Valley Girl is the definitive 1980's movie.", "The definitive 1980's movie is Valley Girl."),
    ("copula", "The best part is the music.", "The music is the best part."),
    ("as_for", "As for the plot, I forgot it.", "I forgot the plot."),
    ("as_for", "But as for the jokes, I loved them.", "But I loved the jokes."),
    ("passive", "The director ruined the film.", "The film was ruined by the director."),
    ("passive", "Tom Hanks beautifully plays the hero.", "The hero is beautifully played by Tom Hanks."),
    ("passive", "The dialogue bored me.", "I was bored by the dialogue."),
]
# words change in one direction: a sentence that stands as it is, and what becomes of it at the other side
ONE_WAY = [
    ("clause", "end", "If you like zombies I recommend this one.", "I recommend this one if you like zombies."),
    ("slifting", "front", "I think that the role needed a better actor.", "The role needed a better actor, I think."),
    ("wh_cleft", "end", "The camera work made my head spin.", "What made my head spin was the camera work."),
    ("wh_cleft", "front", "I usually like zombie movies.", "Zombie movies are what I usually like."),
    ("wh_cleft", "front", "I didn't like the jokes.", "The jokes were what I didn't like."),
]
UNTOUCHED = [
    "I think so.",
    "I do not think the plot works.",  # a negated comment
    "I think it is a film that you will like.",  # the comment would stand behind the second clause
    "I wonder if the plot works.",
    "The actress made my head spin.",  # who, and not what
    "The plot has its moments.",
    "The music and its rhythm moved me.",  # "its" would come before its noun
    "The result is the same.",
    "Tom is a good actor.",  # one of several
    "This is the best film.",
    "The film is not the best part.",
    "I changed my mind.",  # idioms are no topics
    "I loved the actor.",
    "She lost it.",
    "The film has the best music.",
    "Everyone loved it.",
    "The stars of every film bore me.",  # a quantifier
    "The director ruined his film.",  # "his" would come before its noun
    "The film was ruined by 1990.",
    "The film was made by hand in the end.",
    "Did the director ruin the film?",
    "The director ruined the film; I left.",
]
TOGETHER = " ".join([*(text for _, front, end in REWORDED for text in (front, end)), *UNTOUCHED])
NO_KEYPHRASES = pl.DataFrame(schema=KEYPHRASE_SCHEMA)
INSIDE = "In the end, the killer is a ghost. In the end, he is a ghost."
KEYED = "I saw this movie because you like zombies."
LATE = "Fine. I saw it last year."


@pytest.fixture(scope="module")
def sentences(parsed):
    """The sentences of every text here, by the text."""
    texts = [text for pair in PAIRS for text in pair] + [text for _, *pair in REWORDED for text in pair]
    texts += [*(text for *_, text, _ in ONE_WAY), *DOUBTFUL, *UNTOUCHED, INSIDE, KEYED, LATE, TOGETHER]
    return parsed({text: text for text in texts})


def moved(sentences, position, **options):
    return move_by_constructions(sentences, [], position, **options)[0]


@pytest.mark.parametrize(
    ("constructions", "front", "end"),
    [*((KEEPING_WORDS, *pair) for pair in PAIRS), *(([one], *pair) for one, *pair in REWORDED)],
)
def test_two_natural_orders_are_each_others_variants(sentences, constructions, front, end):
    for text in (front, end):
        of = {place: moved(sentences[text], place, constructions=constructions) for place in ("front", "end")}
        assert set(of.values()) == {front, end}
        if constructions == KEEPING_WORDS:
            assert of == {"front": front, "end": end}
        else:
            assert moved(sentences[text], "front") == text  # not by default


@pytest.mark.parametrize(
    ("text", "constructions"), [*((text, EVERY) for text in DOUBTFUL), *((text, REWORDING) for text in UNTOUCHED)]
)
def test_a_sentence_in_doubt_or_that_no_construction_takes_stays_as_it_is(sentences, text, constructions):
    for position in ("front", "end"):
        assert moved(sentences[text], position, constructions=constructions) == text


@pytest.mark.parametrize(("construction", "position", "text", "expected"), ONE_WAY)
def test_a_construction_adds_or_leaves_out_its_own_words(sentences, construction, position, text, expected):
    assert moved(sentences[text], position, constructions=[construction]) == expected
    other = "end" if position == "front" else "front"
    assert moved(sentences[text], other, constructions=[construction]) == text


def test_the_phrase_with_the_key_phrase_moves(sentences):
    text = "Valley Girl is the definitive 1980's movie."
    for word, stood in (("Valley", 0), ("definitive", 1)):  # both may move, each to the other side
        key = [phrase_in(text, word)]
        _, (placement,) = move_by_constructions(sentences[text], key, "end", constructions=["copula"], which="key")
        assert (placement.position, placement.original_position) == (1, stood)


def test_constructions_without_a_place_inside_move_nothing_there(sentences):
    for text in (one for _, one, _ in REWORDED):
        assert not ranked(sentences[text][0], [], REWORDING, ("front", "inward", "end"), "any")


def test_every_construction_is_configured_with_its_places():
    assert list(CONSTRUCTIONS) == list(PLACES_OF)
    assert not CHANGED.keys() & set(KEEPING_WORDS)


def test_an_adjunct_stands_inside_behind_a_subject_that_is_no_pronoun(sentences):
    of = {place: moved(sentences[INSIDE], place, places=("front", "inward", "end")) for place in ("inward", "end")}
    assert of["inward"] == "The killer, in the end, is a ghost. In the end, he is a ghost."
    assert of["end"].endswith("In the end, he is a ghost.")  # all positions move the same
    assert moved(sentences[INSIDE], "end").endswith("He is a ghost, in the end.")


def test_key_phrases_choose_the_adjunct(sentences):
    for which, expected in (("key", 1), ("other", 0), ("any", 1)):
        _, placements = move_by_constructions(sentences[KEYED], [phrase_in(KEYED, "zombies")], "front", which=which)
        assert len(placements) == expected, which


def test_placements_tell_where_the_adjunct_stood_and_stands(sentences):
    _, (placement,) = move_by_constructions(sentences[LATE], [], "front")
    assert (placement.phrase, placement.sentence) == ("last year", 1)
    assert (placement.original_position, placement.position) == (1, 0)


@pytest.fixture(scope="module")
def every(one_parser):
    reviews = clean_reviews(read_reviews("config/reviews.jsonl", "text", "label"))
    return reviews, parse_reviews(reviews, PARSER)


@pytest.mark.parametrize("places", [("front", "end"), ("front", "inward", "end")])
def test_positions_share_sentences_words_and_all_else(every, places):
    reviews, parse = every
    how = {"constructions": EVERY, "places": places, "phrases": "any"}
    variants = {
        place: rewrite_reviews(reviews, NO_KEYPHRASES, parse, place, "constructions", position=place, **how)
        for place in places
    }
    placed = {place: [p for row in table["placements"] for p in row] for place, table in variants.items()}
    assert len(placed["end"]) > (10 if len(places) == 2 else 3)
    same = [[(p["phrase"], p["sentence"], p["original_position"]) for p in own] for own in placed.values()]
    assert all(own == same[0] for own in same)
    for front, end in zip(placed["front"], placed["end"], strict=True):
        assert front["position"] < 0.5 < end["position"] == 1
    for place in places:
        for text, other, placements in zip(
            reviews["text"], variants[place]["text"], variants[place]["placements"], strict=True
        ):
            assert sorted(words(other)) == sorted(words(text))
            before, after = ([t[a:b] for a, b in sentence_spans(t)] for t in (text, other))
            touched = {p["sentence"] for p in placements if p["position"] != p["original_position"]}
            if len(before) == len(after):
                assert {n for n, (one, two) in enumerate(zip(before, after, strict=True)) if one != two} <= touched


@pytest.mark.parametrize("construction", REWORDING)
def test_words_change_only_by_the_closed_list_and_in_the_moved_sentences(sentences, construction):
    for position in ("front", "end"):
        rewritten, placements = move_by_constructions(sentences[TOGETHER], [], position, constructions=[construction])
        own, new = Counter(words(TOGETHER)), Counter(words(rewritten))
        assert ((own - new) + (new - own)).keys() <= CHANGED.get(construction, set())
        assert len(placements) > 1
        # "but as for" stands before the phrase of the shortest topic
        assert all((placement.position <= 0.5) == (position == "front") for placement in placements)
        before, after = ([t[a:b] for a, b in sentence_spans(t)] for t in (TOGETHER, rewritten))
        touched = {number for number, pair in enumerate(zip(before, after, strict=True)) if pair[0] != pair[1]}
        assert touched <= {placement.sentence for placement in placements}


def test_words_that_no_construction_changes_are_not_lost(monkeypatch):
    reviews = pl.DataFrame({"review_id": ["a"], "text": ["I think that the role needed a better actor."], "label": "x"})
    options = {"position": "front", "constructions": ["slifting"], "phrases": "any"}
    tables = (reviews, NO_KEYPHRASES, parse_reviews(reviews, PARSER))
    assert rewrite_reviews(*tables, "moved", "constructions", **options)["text"][0].endswith("actor, I think.")
    monkeypatch.delitem(CHANGED, "slifting")
    with pytest.raises(RuntimeError, match="changed the words"):
        rewrite_reviews(*tables, "moved", "constructions", **options)


def test_through_the_gate_the_best_adjunct_moves_that_passes_at_all_places(sentences):
    late, gate = sentences[LATE], Gate(PARSER)
    free, placements = move_by_constructions(late, [], "front", passes=gate)
    assert (free, gate.refused) == ("Fine. Last year, I saw it.", {})
    assert placements == move_by_constructions(late, [], "front")[1]

    def refuse(sentence, text, way):
        asked.append((text, way))
        return "parse" if text.startswith("Last") else None

    for position in ("front", "end"):
        asked = []
        text, (stays,) = move_by_constructions(late, [], position, passes=refuse)
        assert (text, stays.phrase, stays.original_position, stays.position) == (LATE, "last year", 1, 1)
        assert asked == [("Last year, I saw it.", "adjunct")]


def test_what_the_gate_refused_is_told(caplog):
    reviews = pl.DataFrame({"review_id": ["a"], "text": [LATE], "label": ["1"]})
    given = {"rewriter": "constructions", "position": "end", "phrases": "any", "gate": PARSER}
    with caplog.at_level("INFO"), pytest.MonkeyPatch.context() as patch:
        patch.setattr("homogenization.variants.gate.LEAST_PAIRS", 1.01)
        made = rewrite_reviews(reviews, NO_KEYPHRASES, parse_reviews(reviews, PARSER), "v", **given)
    assert made["text"].to_list() == [LATE]
    assert "v: the gate refused these candidates of sentences: parse 1" in caplog.text
