"""What grammars of rewritten sentences accept: Python's `re` is the reference, llguidance has to agree."""

import re

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from llguidance import LLMatcher, LLTokenizer

from homogenization.corpus.sentences import words
from homogenization.variants.sentence_grammars import (
    DETERMINERS,
    PREPOSITIONS,
    Beginning,
    escaped,
    frame_of,
    grammars,
    is_at,
    place_of,
)

POSITIONS = ("front", "end", "inward", None)
ODD = ("3.5", "10/10", "$5", "U.S.", "(really)", '"so"', "café", "½", "-", "&", "well...", "A+", "x^2|y", "🎬", "don’t")
PLAIN = ("this", "slow", "film", "isn't", "half-baked", "Paris", "WOW", "it,", "dull;", "mind")
PHRASES = ("great cast", "Parker Posey", "café", "3.5 stars", "C++", "É", "x")

sentences = st.builds(
    lambda before, phrase, behind, opening, stop: (opening + " ".join([*before, phrase, *behind]) + stop, phrase),
    st.lists(st.sampled_from(PLAIN + ODD), max_size=5),
    st.sampled_from(PHRASES),
    st.lists(st.sampled_from(PLAIN + ODD), max_size=5),
    st.sampled_from(("", '"', "- ", "(")),
    st.sampled_from((".", "!", "...", "", " :)", '."', ".)", "?!")),
)


@settings(max_examples=60, deadline=None)
@given(
    sentences,
    st.sampled_from(POSITIONS),
    st.lists(st.sampled_from((Beginning("as a whole"), Beginning("3.5", "be"), Beginning("If you", "by"))), max_size=2),
    st.data(),
)
def test_whatever_a_grammar_accepts_has_the_phrase_in_its_place(given_sentence, position, beginnings, data):
    sentence, phrase = given_sentence
    frame = frame_of(sentence, phrase)
    assume(frame is not None)
    regex = data.draw(st.sampled_from(grammars(frame, position, beginnings)))
    answer = data.draw(st.from_regex(regex, fullmatch=True))
    assert answer.endswith(frame.stop)
    found, term = words(frame.filled(answer)), words(phrase)
    starts = [at for at in range(len(found)) if found[at : at + len(term)] == term]
    assert starts
    if words(sentence).count(term[-1]) == 1 and re.fullmatch("[a-z]{2,}", term[-1]):
        assert found.count(term[-1]) == 1
    if position == "front":
        assert found[: starts[0]] == [] or found[starts[0] - 1] in DETERMINERS + PREPOSITIONS
        assert starts[0] <= 2
        assert starts[0] + len(term) < len(found)
    if position == "end":
        assert starts[-1] > 0
        assert found[-len(term) :] == term
    if position == "inward":
        assert any(start >= 3 and start + len(term) < len(found) for start in starts)
    if len(starts) == 1:
        assert is_at(position, " ".join(term), frame.filled(answer))


@pytest.fixture(scope="module")
def by_bytes():
    """A tokenizer of llguidance whose tokens are single bytes."""
    return LLTokenizer("byte")


@settings(max_examples=25, deadline=None)
@given(sentences, st.sampled_from(POSITIONS), st.data())
def test_llguidance_takes_what_python_takes(by_bytes, given_sentence, position, data):
    sentence, phrase = given_sentence
    frame = frame_of(sentence, phrase)
    assume(frame is not None)
    regex = data.draw(
        st.sampled_from(grammars(frame, position, [Beginning("as a whole", "by"), Beginning("very good", "be")]))
    )
    answer = data.draw(st.from_regex(regex, fullmatch=True))
    for text in (answer, answer + " more", answer[:-1] + "\n", "Then " + sentence):
        assert accepted(by_bytes, regex, text) == bool(re.fullmatch(regex, text)), text


def accepted(tokenizer, regex, text):
    matcher = LLMatcher(tokenizer, LLMatcher.grammar_from_regex(regex))
    assert not matcher.is_error(), matcher.get_error()
    tokens = tokenizer.tokenize_str(text)
    return matcher.validate_tokens(tokens) == len(tokens) and matcher.consume_tokens(tokens) and matcher.is_accepting()


@given(st.text(min_size=1))
def test_escaped_text_matches_itself_alone(text):
    assert re.fullmatch(escaped(text), text)
    assert not re.fullmatch(escaped(text), text + text)


def of(sentence, phrase, position, beginnings=()):
    return grammars(frame_of(sentence, phrase), position, beginnings)


def assert_taken(regex, taken, refused=()):
    for text in (*taken, *refused):
        assert bool(re.fullmatch(regex, text)) == (text in taken), text


REVIEW = "This is a good, light movie for Saturday night before you go out."


def test_the_front_takes_the_phrases_own_determiner_or_the_before_it():
    subject, free = of("They gave this dull film a prize.", "dull film", "front")
    for start in ("Dull film", "This dull film", "The dull film"):
        assert_taken(free, [f"{start} took a prize.", f"{start}, they gave it a prize."])
        assert_taken(subject, [f"{start} has a prize."], [f"{start} took a prize."])
    others = ("Its dull film", "A dull film", "In dull film", "For this dull film")
    assert_taken(free, [], [f"{start} took a prize." for start in others])


def test_the_last_word_of_the_phrase_stands_nowhere_else():
    (end,) = of("They gave this dull film a prize in Rome.", "dull film", "end")
    free = ("fil", "filth", "FI", "Finch", "F", "FIX", "a", "dull", "mofilm", "prize")
    bound = ("film", "Film", "FILM", "film-like", "film's", "films", "FILMED", "Filmic")
    texts = ([f"In Rome they called the {word} a prize for this dull film." for word in some] for some in (free, bound))
    assert_taken(end, *texts)
    (end,) = of("The film beat this dull film for a prize in Rome.", "dull film", "end")
    assert_taken(end, ["In Rome the film has beaten this dull film."])


def test_a_name_takes_no_article_that_it_did_not_have():
    _, free = of(REVIEW, "Saturday night", "front")
    refused = (
        *("The Saturday night needs a movie.", "Good Saturday night needs a movie.", "saturday night needs a movie."),
        *("Saturday night needs a movie", "Saturday night needs a movie. Go out.", "Saturday night needs a  movie."),
        *("Saturday night needs 3 movies.", "Saturday nights need a movie.", "Saturday night."),
    )
    assert_taken(free, ["Saturday night needs a good, light movie."], refused)


def test_the_front_takes_what_the_sentence_has_before_the_phrase():
    frame = frame_of("It is filmed in a very precious valley, sadly.", "precious valley", "in a very")
    own, *_ = grammars(frame, "front", [])
    text = "In a very precious valley, it is filmed, sadly."
    assert re.fullmatch(own, text)
    assert not re.fullmatch(own, text.replace("In a very p", "P"))
    assert is_at("front", "precious valley", text, "in a very")
    assert not is_at("inward", "precious valley", text, "in a very")
    assert not is_at("front", "precious valley", text)


def test_the_end_begins_with_what_stood_behind_the_phrase():
    forced, free = of(REVIEW, "Saturday night", "end", [Beginning("before you go out")])
    text, other = "Before you go out, this is a good, light movie for Saturday night.", "Go out on Saturday night."
    assert_taken(forced, [text], [other, "Before you go out Saturday night."])
    assert_taken(free, [text, other], ["Go out on a Saturday night, before you sleep."])


def test_a_subject_comes_to_the_end_by_a_passive_or_an_inversion():
    passive, inverted, _ = of(
        "Quaid plays a dumb guy, so sad.", "Quaid", "end", [Beginning("a dumb guy", "by"), Beginning("so sad", "be")]
    )
    assert_taken(passive, ["A dumb guy is played by Quaid."], ["A dumb guy, sadly, is played by Quaid."])
    assert_taken(inverted, ["So sad, playing a dumb guy, is the Quaid."], ["So sad, playing a dumb guy, Quaid."])


def test_numbers_and_marks_of_the_sentence_alone_may_be_written():
    _, regex = of("Dr. No gave it 7.5 of 10 (really), for a great cast.", "great cast", "front")
    others = [f"A great cast made Dr. No give it {other} of 10." for other in ("8.5", "Mr.", "[really]", '"it"', "-")]
    assert_taken(regex, ["A great cast made Dr. No give it 7.5 of 10 (really)."], others)


@pytest.mark.parametrize(
    ("sentence", "core", "filled"),
    [
        ("A dull film.", "A dull film", "New."),
        ('"A dull film."', "A dull film", '"New."'),
        ('He said "a dull film."', 'He said "a dull film"', "New."),
        ('"A dull film," he said.', '"A dull film," he said', "New."),
        ("A dull film", "A dull film", "New"),
        ("...a dull film :)", "a dull film", "...New :)"),
        ("(A dull film!)", "A dull film", "(New!)"),
    ],
)
def test_marks_around_a_sentence_stay_and_those_within_are_kept_together(sentence, core, filled):
    frame = frame_of(sentence, "dull film")
    assert frame.core == core
    assert frame.filled("New" + frame.stop) == filled


@pytest.mark.parametrize("sentence", ['A "dull film.', "A (dull film.", "...!"])
def test_a_sentence_whose_marks_close_elsewhere_has_no_frame(sentence):
    assert frame_of(sentence, "dull film") is None


def test_a_phrase_that_stands_twice_has_no_place():
    assert place_of("dull film", "A dull film is a dull film.") is None
    assert place_of("dull film", "This is a Dull Film, sadly.") == (3, 1)
    assert not is_at(None, "dull film", "A dull film is a dull film.")


@pytest.mark.parametrize(
    ("text", "positions"),
    [
        ("Dull films are many here.", {"front", None}),
        ("In the dull films I sleep.", {"front", None}),
        ("The many dull films bore me.", {"inward", None}),
        ("I love watching dull films!", {"end", None}),
    ],
)
def test_positions(text, positions):
    assert {position for position in POSITIONS if is_at(position, "dull films", text)} == positions
