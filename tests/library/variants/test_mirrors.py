from itertools import chain

import pytest

from homogenization.variants.constituents import parsed_sentences
from homogenization.variants.mirrors import KEPT, LONGEST, beginnings, lead_of
from homogenization.variants.sentence_grammars import Beginning
from moving import phrase_in
from unparsed import unparsed

POSEY = "Posey gives an amazing performance as a librarian and a night crawler."
FRIENDS = "I saw a slow film there with my friends on Monday."
# sentence -> (phrase, text that can begin it)
SENTENCES = {
    "We watched this slow film with my parents last night.": ("slow film", "with my parents"),
    "This is a good, light movie for Saturday night before you go out.": ("Saturday night", "before you go out"),
    "If you watch Party Girl you are bound to have a good time.": ("Party Girl", "you are bound to"),
    "TV sequences are very good, like a photocopy of old footage.": ("TV sequences", "very good"),
    "Dennis Quaid gives us a dumb guy.": ("Dennis Quaid", "a dumb guy"),
}


@pytest.fixture(scope="module")
def sentences(parsed):
    texts = (POSEY, FRIENDS, *SENTENCES)
    return {text: sentence for text, (sentence,) in parsed({text: text for text in texts}).items()}


@pytest.mark.parametrize("text", SENTENCES)
def test_what_stands_behind_the_phrase_can_begin_the_sentence(sentences, text):
    phrase, expected = SENTENCES[text]
    found = beginnings(sentences[text], phrase_in(text, phrase))
    assert expected in [beginning.text for beginning in found]


def test_what_the_parse_hangs_on_the_phrase_stays_with_it(sentences):
    assert beginnings(sentences[POSEY], phrase_in(POSEY, "amazing performance")) == []
    assert beginnings(sentences[FRIENDS], phrase_in(FRIENDS, "slow film")) == [Beginning("on Monday")]


def test_of_a_subject_the_predicate_comes_first(sentences):
    found = beginnings(sentences[POSEY], phrase_in(POSEY, "Posey"))
    assert found[0].text.startswith("an amazing performance")
    assert found[0].link == "by"
    text = "TV sequences are very good, like a photocopy of old footage."
    assert Beginning("very good", "be") in beginnings(sentences[text], phrase_in(text, "TV sequences"))


def test_beginnings_are_short_texts_behind_the_phrase_and_no_single_stop_words(embedded):
    reviews, _, parse = embedded
    n_found = 0
    for sentence in chain(*parsed_sentences(reviews, parse).values()):
        for constituent in sentence.constituents()[:3]:
            for text, _ in beginnings(sentence, constituent):
                n_found += 1
                assert text in sentence.text[constituent.end : sentence.span[1]]
                assert len(text.split()) <= max(LONGEST, KEPT)
                assert text not in ("it", "too", "very")
                assert text[-1].isalnum() or text.endswith((")", '"', "”", "%"))
    assert n_found > 50


def test_a_sentence_without_a_parse_has_none():
    assert beginnings(unparsed(POSEY)[0], phrase_in(POSEY, "Posey")) == []


@pytest.mark.parametrize(
    ("text", "phrase", "lead"),
    [
        ("This is a good, light movie for Saturday night before you go out.", "Saturday night", "for"),
        ("If you watch Party Girl you are bound to have a good time.", "good time", ""),
        (POSEY, "amazing performance", ""),
    ],
)
def test_the_lead_is_what_a_prepositional_phrase_has_before_the_phrase(sentences, text, phrase, lead):
    assert lead_of(sentences[text], phrase_in(text, phrase)) == lead
