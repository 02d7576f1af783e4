"""The parse of real sentences: what may be a key phrase, what moves with it, and what is kept of a parse."""

import polars as pl
import pytest

from homogenization.run.errors import HomogenizationError
from homogenization.variants.parsing import LONGEST_PARSED, LONGEST_RUN, parse_reviews, read_parse, write_parse
from homogenization.variants.phrases import Phrase
from homogenization.variants.rules import move_by_rules
from homogenization.variants.sentences import MOST_WORDS, sentences_of
from moving import PACKAGE, phrases_of

TEXTS = {
    "house": "He lived in the old house with Emilio Estevez. She said a lot, yep, but that movie bored me.",
    "bracket": "I met Cooper(the father). He has a wife.",
    "list": "1. Great plot 2. The slow zombie won the prize.",
    "names": "Isabella Rosselini met a slow zombie. Watching it hurt my good friend.",
}


@pytest.fixture(scope="module")
def sentences(parsed):
    return parsed(TEXTS)


def moved(sentences, name, position, *terms):
    return move_by_rules(sentences[name], phrases_of(TEXTS[name], *terms), position)[0]


def test_content_terms_are_nouns_with_their_adjectives_and_whole_names(sentences):
    def terms(name):
        return [term for sentence in sentences[name] for term in sentence.content_terms(3)]

    assert sorted(set(terms("house"))) == ["emilio estevez", "movie", "old house"]
    assert sorted(set(terms("names"))) == ["good friend", "isabella rosselini", "slow zombie"]


def test_a_phrase_moves_with_its_determiner_and_its_preposition(sentences):
    assert moved(sentences, "house", "front", "old house").startswith("In the old house")
    assert "with Emilio Estevez" in moved(sentences, "house", "front", "emilio estevez").replace("With", "with")
    assert moved(sentences, "house", "front", "movie").endswith("That movie she said a lot, yep, but bored me.")


def test_names_keep_their_capitals(sentences):
    assert "Isabella Rosselini" in moved(sentences, "names", "end", "isabella rosselini")
    assert moved(sentences, "names", "front", "slow zombie").startswith("A slow zombie Isabella Rosselini met")
    assert "watching it hurt" in moved(sentences, "names", "front", "good friend")


def test_a_bracket_without_a_space_survives_and_a_numbered_list_stays(sentences):
    assert moved(sentences, "bracket", "front", "wife").startswith("I met Cooper(the father).")
    assert moved(sentences, "list", "front", "great plot", "prize").startswith("1. Great plot 2. ")


def test_constituents_are_runs_of_whole_words_in_their_sentence(sentences):
    for name, text in TEXTS.items():
        for sentence in sentences[name]:
            for phrase in sentence.constituents():
                assert sentence.start <= phrase.start < phrase.end <= sentence.start + len(sentence.text)
                assert len(phrase.term.split()) <= MOST_WORDS
                assert phrase.start == 0 or not text[phrase.start - 1].isalnum()
                assert not text[phrase.end : phrase.end + 1].isalnum()


def test_a_sentence_is_parsed_as_it_is_alone_and_a_file_keeps_all(tmp_path):
    def facts(doc):
        tokens = [(t.text, t.whitespace_, t.head.i, t.dep_, t.pos_, t.tag_, t.ent_type_, t.ent_iob_) for t in doc]
        return tokens, [(span.start, span.end) for span in (*doc.noun_chunks, *doc.ents)]

    reviews = pl.DataFrame({"text": ["I won. A movie bored me.", "", "A movie bored me.", *TEXTS.values()]})
    docs = parse_reviews(reviews, PACKAGE)
    assert facts(docs[1]) == facts(docs[2])
    write_parse(docs, tmp_path / "parse.spacy")
    assert list(map(facts, read_parse(tmp_path / "parse.spacy"))) == list(map(facts, docs))
    read = sentences_of(reviews["text"], docs)
    assert [" ".join(sentence.text for sentence in own) for own in read] == reviews["text"].to_list()


TOO_LONG = {
    "marks": "!" * 20_000,
    "brackets": "([" * 10_000,
    "emoji": "\U0001f600" * 20_000,
    "apart": "! " * 5_000 + "!",
}


def test_a_sentence_that_is_too_long_is_not_parsed_stays_and_is_told(parsed, caplog):
    """The parser would take minutes for it. The sentences around it move as ever."""
    texts = {
        name: f"{TEXTS['house']} I saw it on Monday {long} again. {TEXTS['names']}" for name, long in TOO_LONG.items()
    }
    sentences = parsed(texts)
    (told,) = (record.message for record in caplog.records if record.levelname == "WARNING")
    assert told.startswith("parser: 4 sentences are not parsed")
    for name, text in texts.items():
        start = text.index("Monday")
        number = next(one.number for one in sentences[name] if one.start <= start < one.start + len(one.text))
        assert sentences[name][number].stays
        phrases = sorted(
            [*phrases_of(text, "old house", "slow zombie"), Phrase("monday", number, start, start + 6)],
            key=lambda phrase: phrase.start,
        )
        for position, like, which in (("front", None, "key"), ("inward", "front", "key"), ("end", None, "other")):
            variant, _ = move_by_rules(sentences[name], phrases, position, like=like, which=which)
            assert f" I saw it on Monday {TOO_LONG[name]}" in variant
            assert variant != text


def test_only_sentences_of_no_language_are_too_long(parsed):
    for long in ("https://example.org/" + "a" * (LONGEST_RUN - 20), "zombie " * (LONGEST_PARSED // 7)):
        (whole,), (over,) = parsed({"a": long.strip(), "b": f"{long}zombies."}).values()
        assert (whole.stays, over.stays) == (False, True)


@pytest.mark.parametrize("package", ["absent", "csv", "polars"])
def test_a_parser_that_is_not_there_is_refused(package):
    with pytest.raises(HomogenizationError, match=f"'{package}' is not installed or carries no"):
        parse_reviews(pl.DataFrame({"review_id": ["a"], "text": ["A zombie."]}), package)
