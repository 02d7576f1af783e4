"""The parse of real sentences: what may be a key phrase, and what moves with it."""

import polars as pl
import pytest

from homogenization.corpus.sentences import LONGEST_PARSED, LONGEST_RUN, is_parsed, sentence_spans
from homogenization.run.errors import HomogenizationError
from homogenization.variants.constituents import MOST_WORDS
from homogenization.variants.parsing import parse_reviews
from homogenization.variants.phrases import Phrase
from homogenization.variants.rules import move_by_rules

TEXTS = {
    "house": "He lived in the old house with Emilio Estevez. She said a lot, yep, but that movie bored me.",
    "bracket": "I met Cooper(the father). He has a wife.",
    "list": "1. Great plot 2. The slow zombie won the prize.",
    "names": "Isabella Rosselini met a slow zombie. Watching it hurt my good friend.",
}


@pytest.fixture(scope="module")
def sentences(parsed):
    return parsed(TEXTS)


def content(sentences, name):
    return [phrase for sentence in sentences[name] for phrase in sentence.content_phrases((1, 3))]


def moved(sentences, name, position, *terms):
    phrases = [phrase for phrase in content(sentences, name) if phrase.term in terms]
    assert phrases
    return move_by_rules(sentences[name], phrases, position)[0]


def test_content_phrases_are_nouns_with_their_adjectives_and_whole_names(sentences):
    assert [phrase.term for phrase in content(sentences, "house")] == ["old house", "emilio estevez", "movie"]
    names = ["isabella rosselini", "slow zombie", "good friend"]
    assert [phrase.term for phrase in content(sentences, "names")] == names


def test_a_phrase_moves_with_its_determiner_and_its_preposition(sentences):
    assert moved(sentences, "house", "front", "old house").startswith("In the old house")
    assert "with Emilio Estevez" in moved(sentences, "house", "front", "emilio estevez").replace("With", "with")
    assert moved(sentences, "house", "front", "movie").endswith("That movie she said a lot, yep, but bored me.")


def test_names_keep_their_capitals(sentences):
    assert "Isabella Rosselini" in moved(sentences, "names", "end", "isabella rosselini")
    assert "my good friend" in moved(sentences, "names", "end", "good friend").casefold()
    assert moved(sentences, "names", "front", "slow zombie").startswith("A slow zombie")
    assert "Isabella Rosselini met" in moved(sentences, "names", "front", "slow zombie")
    assert "watching it hurt" in moved(sentences, "names", "front", "good friend")


def test_a_bracket_without_a_space_before_it_survives(sentences):
    assert moved(sentences, "bracket", "front", "cooper", "father").casefold().count("(the father)") == 1


def test_a_numbered_list_stays_as_it_is(sentences):
    variant = moved(sentences, "list", "front", "great plot", "prize")
    assert variant.startswith("1. Great plot 2. ")
    assert variant != TEXTS["list"]


def test_constituents_are_runs_of_whole_words_in_their_sentence(sentences):
    for name, text in TEXTS.items():
        spans = sentence_spans(text)
        for sentence in sentences[name]:
            for phrase in sentence.constituents():
                start, end = spans[phrase.sentence]
                assert start <= phrase.start < phrase.end <= end
                assert len(phrase.term.split()) <= MOST_WORDS
                assert phrase.start == 0 or not text[phrase.start - 1].isalnum()
                assert not text[phrase.end : phrase.end + 1].isalnum()


def test_a_sentence_is_parsed_as_it_is_alone(parsed, sentences):
    (alone,) = parsed({"a": "She said a lot, yep, but that movie bored me."})["a"]
    assert [(token.pos, token.dep, token.head) for token in alone.tokens] == [
        (token.pos, token.dep, token.head) for token in sentences["house"][1].tokens
    ]


TOO_LONG = {
    "marks": "!" * 20_000,
    "brackets": "([" * 10_000,
    "emoji": "\U0001f600" * 20_000,
    "joined": "\u2764\ufe0f" * 10_000,
    "apart": "! " * 5_000 + "!",
}


def test_a_sentence_that_is_too_long_is_not_parsed_stays_and_is_told(parsed, caplog):
    """The parser would take minutes for it. The sentences around it move as ever."""
    texts = {
        name: f"{TEXTS['house']} I saw it on Monday {long} again. {TEXTS['names']}" for name, long in TOO_LONG.items()
    }
    sentences = parsed(texts)
    (told,) = (record.message for record in caplog.records if record.levelname == "WARNING")
    assert told.startswith("parser: 5 sentences are not parsed and stay as they are")
    assert told.endswith(f"in the reviews {', '.join(texts)}.")
    assert sum(len(one.tokens) for name in texts for one in sentences[name]) < 100 * len(texts)
    for name, text in texts.items():
        start = text.index("Monday")
        number = next(one.number for one in sentences[name] if one.span[0] <= start < one.span[1])
        assert sentences[name][number].stays
        phrases = [
            *(phrase for phrase in content(sentences, name) if phrase.term == "old house"),
            Phrase("monday", number, start, start + 6),
            *(phrase for phrase in content(sentences, name) if phrase.term == "slow zombie"),
        ]
        for position, like, which in (("front", None, "key"), ("inward", "front", "key"), ("end", None, "other")):
            variant, _ = move_by_rules(sentences[name], phrases, position, like=like, which=which)
            assert f" I saw it on Monday {TOO_LONG[name]}" in variant
            assert variant != text


def test_only_sentences_of_no_language_are_too_long(sentences):
    url = "https://example.org/" + "a" * (LONGEST_RUN - 20)
    for long in (url, "zombie " * (LONGEST_PARSED // 7)):
        assert is_parsed(long, 0, len(long))
        assert not is_parsed(long + "zombies", 0, len(long) + 7)


@pytest.mark.parametrize("package", ["absent", "csv", "polars"])
def test_a_parser_that_is_not_there_is_refused(package):
    with pytest.raises(HomogenizationError, match=f"'{package}' is not installed or carries no"):
        parse_reviews(pl.DataFrame({"review_id": ["a"], "text": ["A zombie."]}), package)
