import polars as pl
import pytest

from homogenization.config.texts import Parser
from homogenization.variants.constituents import parsed_sentences
from homogenization.variants.mirrors import KEPT, LONGEST, beginnings, lead_of
from homogenization.variants.parsing import parse_reviews
from homogenization.variants.phrases import Phrase
from homogenization.variants.sentence_grammars import Beginning

# sentence -> (phrase, text that can begin it)
SENTENCES = {
    "Posey gives an amazing performance as a librarian and a night crawler.": (
        "amazing performance",
        "as a librarian and a night crawler",
    ),
    "This is a good, light movie for Saturday night before you go out.": ("Saturday night", "before you go out"),
    "If you watch Party Girl you are bound to have a good time.": ("Party Girl", "you are bound to"),
    "TV sequences are very good, like a photocopy of old footage.": ("TV sequences", "very good"),
    "Dennis Quaid gives us a dumb guy.": ("Dennis Quaid", "a dumb guy"),
}


@pytest.fixture(scope="module")
def parsed():
    reviews = pl.DataFrame({"review_id": list(SENTENCES), "text": list(SENTENCES)})
    return parsed_sentences(reviews, parse_reviews(reviews, Parser().params()))


@pytest.mark.parametrize("text", SENTENCES)
def test_what_stands_behind_the_phrase_can_begin_the_sentence(parsed, text):
    phrase, expected = SENTENCES[text]
    start = text.index(phrase)
    found = beginnings(parsed[text][0], Phrase(phrase.casefold(), 0, start, start + len(phrase)))
    assert expected in [beginning.text for beginning in found]


def test_of_a_subject_the_predicate_comes_first(parsed):
    text = next(iter(SENTENCES))
    found = beginnings(parsed[text][0], Phrase("posey", 0, 0, 5))
    assert found[0].text.startswith("an amazing performance")
    assert found[0].link == "by"
    text = "TV sequences are very good, like a photocopy of old footage."
    assert Beginning("very good", "be") in beginnings(parsed[text][0], Phrase("tv sequences", 0, 0, 12))


def test_beginnings_are_short_texts_behind_the_phrase_and_no_single_stop_words(embedded):
    reviews, parse = embedded
    n_found = 0
    for sentences in parsed_sentences(reviews, parse).values():
        for sentence in sentences:
            for constituent in sentence.constituents()[:3]:
                for text, _ in beginnings(sentence, constituent):
                    n_found += 1
                    assert text in sentence.text[constituent.end : sentence.span[1]]
                    assert len(text.split()) <= max(LONGEST, KEPT)
                    assert text not in ("it", "too", "very")
                    assert text[-1].isalnum() or text.endswith((")", '"', "”", "%"))
    assert n_found > 50


def test_a_sentence_without_a_parse_has_none(parsed):
    sentence = parsed[next(iter(SENTENCES))][0]
    bare = type(sentence)(sentence.text, sentence.span, 0, [])
    assert beginnings(bare, Phrase("posey", 0, 0, 5)) == []


@pytest.mark.parametrize(
    ("text", "phrase", "lead"),
    [
        ("This is a good, light movie for Saturday night before you go out.", "Saturday night", "for"),
        ("If you watch Party Girl you are bound to have a good time.", "good time", ""),
        ("Posey gives an amazing performance as a librarian and a night crawler.", "amazing performance", ""),
    ],
)
def test_the_lead_is_what_a_prepositional_phrase_has_before_the_phrase(parsed, text, phrase, lead):
    start = text.index(phrase)
    assert lead_of(parsed[text][0], Phrase(phrase.casefold(), 0, start, start + len(phrase))) == lead
