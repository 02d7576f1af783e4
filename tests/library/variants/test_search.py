import pytest
from hypothesis import given
from hypothesis import strategies as st

from homogenization.corpus.cleaning import clean_text
from homogenization.corpus.sentences import sentence_spans, words
from homogenization.variants.frequencies import count_document_frequencies
from homogenization.variants.keyphrases import extract_keyphrases
from homogenization.variants.phrases import Placement, phrases_by_review
from homogenization.variants.rules import keep_text, move_by_rules
from homogenization.variants.scorers import tfidf_scorer
from homogenization.variants.search import find_again
from moving import phrases_of
from unparsed import unparsed


def found(original, terms, rewritten):
    placements = find_again(original, phrases_of(original, *terms), rewritten)
    return [(placement.phrase, placement.sentence, placement.position) for placement in placements]


def test_positions_are_measured_in_the_sentences_of_each_text():
    original = "I came home. There I saw a slow zombie eat."
    placements = find_again(original, phrases_of(original, "slow zombie"), "The slow zombie ate there.")
    assert placements == [Placement("slow zombie", 1, 4 / 5, 1 / 3)]


@pytest.mark.parametrize(
    ("terms", "rewritten", "expected"),
    [
        # only the very words, in one piece, within one sentence
        (["slow zombie"], "Slow, zombie eats.", []),
        (["slow zombie"], "A slow old zombie eats.", []),
        (["slow zombie"], "It is slow. Zombie eats.", []),
        (["slow zombie"], "The slow zombie's lunch.", []),
        (["zombie"], "Two zombies eat.", []),
        (["slow zombie"], "SLOW   ZOMBIE eats.", [("slow zombie", 1, 0.0)]),
        (["slow zombie"], "It eats - slow zombie!", [("slow zombie", 1, 1.0)]),
        # marks around a phrase are no part of it, with a space or without
        (["zombie"], "So—zombie—eats.", [("zombie", 1, 0.5)]),
        (["zombie"], 'The "zombie" eats.', [("zombie", 1, 0.5)]),
        # the first place for the first, and none for more than there are
        (["eat"], "Eat what I eat.", [("eat", 0, 0.0), ("eat", 1, 1.0)]),
        (["eat"], "Eat.", [("eat", 0, None)]),
        (["eat"], "Eat, eat, eat.", [("eat", 0, 0.0), ("eat", 1, 0.5)]),
        # no word serves two phrases
        (["slow zombie", "zombie"], "The slow zombie.", [("slow zombie", 1, 1.0)]),
        (["zombie"], "", []),
        ([], "The slow zombie.", []),
    ],
)
def test_what_counts_as_found(terms, rewritten, expected):
    original = "Will it eat? I saw a slow zombie eat."
    if terms == ["slow zombie", "zombie"]:
        original += " The zombie."
    assert found(original, terms, rewritten) == expected


def test_the_dot_of_a_title_breaks_no_phrase():
    original = "We met Dr. Jones here."
    assert found(original, ["dr jones"], "Here, Dr. Jones met us.") == [("dr jones", 0, 1 / 3)]


ORIGINAL = "The slow zombie eats. A clever film is clever, and the film ends. Zombie film fans eat."
TERMS = ("slow zombie", "clever film", "clever", "film", "zombie film", "eat", "eats")
PIECES = ("the", "Slow", "zombie", "clever", "film", "eats", "eat", ",", ".", "!", '"', "(", ")", "-", "Dr.", "\n")


@given(rewritten=st.lists(st.sampled_from(PIECES), max_size=25), data=st.data())
def test_a_placement_never_points_to_anything_but_its_phrase(rewritten, data):
    terms = data.draw(st.sets(st.sampled_from(TERMS)))
    rewritten = clean_text(" ".join(rewritten))
    phrases = []
    for phrase in phrases_of(ORIGINAL, *terms):
        if not phrases or phrase.start >= phrases[-1].end:
            phrases.append(phrase)
    placements = find_again(ORIGINAL, phrases, rewritten)
    places = {}
    for span in sentence_spans(rewritten):
        sentence = words(rewritten[slice(*span)])
        for term in terms:
            length = len(term.split())
            for first in range(len(sentence) - length + 1):
                if sentence[first : first + length] == term.split():
                    others = len(sentence) - length
                    places.setdefault(term, []).append(first / others if others else None)
    for term in terms:
        positions = [placement.position for placement in placements if placement.phrase == term]
        assert len(positions) <= sum(phrase.term == term for phrase in phrases)
        for position in positions:
            places.get(term, []).remove(position)  # each stands there, and serves once
    # no word is counted twice
    assert sum(len(placement.phrase.split()) for placement in placements) <= len(words(rewritten))


@pytest.fixture(scope="module")
def reviews_with_phrases(embedded):
    """(text, its key phrases) of embedded reviews."""
    reviews, parse = embedded
    scorer = tfidf_scorer(count_document_frequencies(reviews["text"]), len(reviews))
    table = extract_keyphrases(reviews, parse, scorer, 8, (1, 3))
    texts = dict(reviews.select("review_id", "text").iter_rows())
    return [(texts[name], phrases) for name, phrases in phrases_by_review(table).items()]


def test_an_untouched_review_has_its_phrases_where_they_were(reviews_with_phrases):
    for text, phrases in reviews_with_phrases:
        assert find_again(text, phrases, text) == keep_text(text, phrases)[1]


@pytest.mark.parametrize(("position", "place"), [("front", 0.0), ("end", 1.0)])
def test_it_finds_what_the_rules_moved(reviews_with_phrases, position, place):
    distances = []
    n_exact = n_phrases = 0
    for text, phrases in reviews_with_phrases:
        rewritten, moved = move_by_rules(unparsed(text), phrases, position)
        found = find_again(text, phrases, rewritten)
        assert [placement.phrase for placement in found] == [phrase.term for phrase in phrases]
        n_phrases += len(phrases)
        n_exact += sum(one == other for one, other in zip(found, moved, strict=True))
        distances += [abs(one.position - place) for one in found if one.position is not None]
    # the sentences of a text are cut anew, now and then elsewhere
    assert n_exact / n_phrases > 0.9
    assert sum(distances) / len(distances) < 0.15
