"""Noun phrases that a construction may put elsewhere: which they are, and what of them a construction asks for."""

from dataclasses import dataclass

from homogenization.variants import construction_words as lexicon
from homogenization.variants.clauses import MainClause, Span


@dataclass(frozen=True)
class NounPhrase:
    """A noun phrase.

    Attributes:
        span: Its first and last token.
        head: Number of its noun's token.
        own_words: The folded words of the noun and of its adjectives.
        is_plural: Whether the noun is plural, or coordinated with another.
        is_definite: Whether it is a name, has an owner, or begins with "the", "this" and the like.
        is_thing: Whether the noun is common, means no person, and stands in no idiom.
        has_verb: Whether it holds a verb.
    """

    span: Span
    head: int
    own_words: tuple[str, ...]
    is_plural: bool
    is_definite: bool
    is_thing: bool
    has_verb: bool

    @property
    def word(self) -> str:
        """The folded noun."""
        return self.own_words[0]


def noun_phrase(clause: MainClause, span: Span | None) -> NounPhrase | None:
    """Some tokens as a noun phrase.

    None where they are none, or hold a comma, a pronoun that may mean another noun, or a quantifier or "even", whose
    meaning depends on their place.
    """
    inside = range(span[0], span[1] + 1) if span is not None else ()
    heads = [number for number in inside if clause.head(number) not in inside]
    if len(heads) != 1 or clause.tokens[heads[0]].pos not in ("NOUN", "PROPN"):
        return None
    if any(_is_doubtful(clause, number) for number in inside):
        return None
    head, token, children = heads[0], clause.tokens[heads[0]], clause.children(heads[0])
    is_name = token.pos == "PROPN" and clause.tokens[span[0]].pos == "PROPN"
    word = clause.words[head]
    is_other = token.pos == "PROPN" or word in lexicon.PERSONS | lexicon.IDIOMATIC or word.endswith(lexicon.PERSONAL)
    return NounPhrase(
        span=span,
        head=head,
        own_words=(word, *(clause.words[child] for child in children if clause.tokens[child].dep == "amod")),
        is_plural=token.tag in ("NNS", "NNPS") or clause.has(("conj",), children),
        is_definite=is_name or clause.has(("poss",), children) or clause.words[span[0]] in lexicon.DEFINITE,
        is_thing=word in lexicon.THINGS or not is_other,
        has_verb=any(clause.tokens[number].is_verb for number in inside),
    )


def _is_doubtful(clause: MainClause, number: int) -> bool:
    word = clause.words[number]
    is_focus = word in lexicon.FOCUS and clause.tokens[number].dep != "amod"
    return word == "," or is_focus or word in lexicon.QUANTIFIERS or clause.refers(number)
