"""Sentences without a parse, in which phrases move without their constituents."""

from homogenization.corpus.sentences import sentence_spans
from homogenization.variants.constituents import Sentence


def unparsed(text: str) -> list[Sentence]:
    """The sentences of `text`, without tokens."""
    return [Sentence(text, span, number, []) for number, span in enumerate(sentence_spans(text))]
