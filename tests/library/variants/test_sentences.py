"""The parse of real sentences: what may be a key phrase, what moves with it, and what is kept of a parse."""

import polars as pl
import pytest

from homogenization.run.errors import HomogenizationError
from homogenization.variants.parsing import LONGEST_RUN, parse_reviews, read_parse, write_parse
from homogenization.variants.rules import move_by_rules
from homogenization.variants.sentences import sentences_of
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


@pytest.mark.parametrize("long", ["!" * 20_000, "\U0001f600" * 20_000, "! " * 5_000 + "!", "z" * (LONGEST_RUN + 1)])
def test_a_sentence_that_is_too_long_is_not_parsed_stays_and_is_told(parsed, caplog, long):
    """The parser would take minutes for it. The sentences around it move as ever."""
    text = f"{TEXTS['house']} I saw it on Monday {long} again. {TEXTS['names']}"
    sentences = parsed({"a": text})["a"]
    (told,) = (record.message for record in caplog.records if record.levelname == "WARNING")
    assert told.startswith("parser: 1 sentences are not parsed")
    phrases = phrases_of(text, "old house", "slow zombie", "monday")
    for position, like, which in (("front", None, "key"), ("inward", "front", "key"), ("end", None, "other")):
        variant, _ = move_by_rules(sentences, phrases, position, like=like, which=which)
        assert f" I saw it on Monday {long}" in variant
        assert variant != text


@pytest.mark.parametrize("package", ["absent", "csv", "polars"])
def test_a_parser_that_is_not_there_is_refused(package):
    with pytest.raises(HomogenizationError, match=f"'{package}' is not installed or carries no"):
        parse_reviews(pl.DataFrame({"review_id": ["a"], "text": ["A zombie."]}), package)
