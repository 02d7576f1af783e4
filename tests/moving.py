"""Key phrases of one text, moved by the rules."""

from homogenization.variants.keyphrases import candidates
from homogenization.variants.phrases import Phrase
from homogenization.variants.rules import move_by_rules
from unparsed import unparsed


def phrases_of(text, *terms):
    """All places of `terms` in `text`, as phrases."""
    return [phrase for phrase in candidates(text, (1, 3)) if phrase.term in terms]


def phrase_in(text, phrase):
    """The first place of `phrase` in `text`, of one sentence."""
    start = text.index(phrase)
    return Phrase(phrase.casefold(), 0, start, start + len(phrase))


def moved(text, position, *terms):
    return move_by_rules(unparsed(text), phrases_of(text, *terms), position)[0]
