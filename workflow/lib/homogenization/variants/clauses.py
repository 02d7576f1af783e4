"""The main clause of a parsed sentence."""

import re
from collections.abc import Iterable
from functools import cached_property

from homogenization.corpus.sentences import folded
from homogenization.variants import adjunct_words as lexicon
from homogenization.variants.sentences import Sentence, is_closed, is_name, is_verb, is_word

_SUBJECTS = frozenset(("nsubj", "nsubjpass", "expl"))
_COMPLEMENTS = frozenset(("dobj", "attr", "acomp", "ccomp", "xcomp", "oprd", "dative"))
_DIVIDING = (";", ":", "--", " - ", "–", "—", "..", "…")
# brackets that hold a mark
_WORDLESS = re.compile(r"[(\[{]\W+[)\]}]")


class MainClause:
    """The only main clause of a sentence: a statement with its subject before its verb, or an imperative.

    Tokens are given by their numbers. Spans are first and last token.
    """

    def __init__(self, sentence: Sentence):
        self.sentence, self.doc = sentence, sentence.doc
        self.words = [folded(token.text) for token in self.doc]

    @cached_property
    def verb(self) -> int | None:
        """The main verb; None of a sentence with two roots, with a colon or a dash, or with a question mark."""
        text = self.sentence.text
        roots = [token.i for token in self.doc if token.dep_ == "ROOT"]
        is_plain = text.endswith((".", "!")) and is_closed(text) and not any(mark in text for mark in _DIVIDING)
        if len(roots) != 1 or not is_plain or self.sentence.stays or _WORDLESS.search(text):
            return None
        subjects = self.subjects(roots[0])
        is_clause = subjects[0] < roots[0] if subjects else self.words[roots[0]] in lexicon.IMPERATIVES
        return roots[0] if is_clause and is_verb(self.doc[roots[0]]) else None

    @cached_property
    def verbs(self) -> list[int]:
        """The main verb and the infinitives that complete it ("I want to see it again this year")."""
        found = [] if self.verb is None else [self.verb]
        for verb in found:
            found += [number for number in self.children(verb) if self.doc[number].dep_ == "xcomp" and number > verb]
        return found

    def children(self, head: int) -> list[int]:
        """The tokens that depend on a token."""
        return [child.i for child in self.doc[head].children]

    def subjects(self, verb: int) -> list[int]:
        """The subjects of a verb."""
        return [number for number in self.children(verb) if self.doc[number].dep_ in _SUBJECTS]

    def subject(self, verb: int) -> tuple[int, int] | None:
        """The span of a verb's first subject, with all that depends on it."""
        subjects = self.subjects(verb)
        return self.sentence.subtrees[subjects[0]] if subjects else None

    def complements(self, verb: int, within: Iterable[int]) -> set[str]:
        """The heads of those complements of a verb that are among some tokens."""
        return {self.words[n] for n in self.children(verb) if n in within and self.doc[n].dep_ in _COMPLEMENTS}

    def is_word(self, number: int) -> bool:
        """Whether a token has a letter or a digit."""
        return is_word(self.doc[number])

    def has(self, dependencies: Iterable[str], numbers: Iterable[int]) -> bool:
        """Whether one of some tokens has one of these labels."""
        return any(self.doc[number].dep_ in dependencies for number in numbers)

    @cached_property
    def lead(self) -> int:
        """Number of tokens at the beginning that no adjunct precedes: a coordinator, with its comma."""
        return 0 if self.doc[0].dep_ != "cc" else 1 + (self.words[1:2] == [","])

    def trimmed(self, first: int, last: int) -> tuple[int, int]:
        """A span without punctuation at its edges."""
        inner = [number for number in range(first, last + 1) if self.is_word(number)] or [first]
        return inner[0], inner[-1]

    def is_title(self, number: int) -> bool:
        """Whether a word has a capital that it may keep or lose: of a title, or of no name that the parse knows."""
        token, following = self.doc[number], self.doc[number + 1]
        if not token.text[0].isupper() or self.words[number] == "i":
            return False
        if token.pos_ == "PROPN":
            return not is_name(token) and following.pos_ != "PROPN"
        return token.pos_ != "NOUN" and following.text[0].isupper() and self.words[number + 1] != "i"

    def refers(self, number: int) -> bool:
        """Whether a token is a pronoun, and not the determiner of a noun."""
        return self.words[number] in lexicon.PRONOUNS and self.doc[number].dep_ not in ("det", "mark", "expl")
