"""The main clause of a parsed sentence."""

import re
from collections.abc import Iterable
from functools import cached_property

from homogenization.corpus.sentences import folded
from homogenization.variants import adjunct_words as lexicon
from homogenization.variants.sentences import Sentence, is_closed, is_name, is_verb, is_word

_SUBJECTS = frozenset(("nsubj", "nsubjpass", "expl"))
_DIVIDING = (";", ":", "--", " - ", "–", "—", "..", "…")
# brackets that hold a mark
_WORDLESS = re.compile(r"[(\[{]\W+[)\]}]")


class MainClause:
    """The only main clause of a sentence: a statement with its subject before its verb, or an imperative.

    A sentence with two roots, with a colon or a dash, or with a question mark has none.
    """

    def __init__(self, sentence: Sentence):
        self.sentence, self.tokens = sentence, sentence.tokens
        self.words = [folded(token.text) for token in self.tokens]

    @cached_property
    def root(self) -> int | None:
        """Number of the only root's token, a verb, of a sentence that ends with a stop; None for other sentences."""
        text = self.sentence.span.text
        roots = [number for number, token in enumerate(self.tokens) if token.dep_ == "ROOT"]
        is_plain = text.endswith((".", "!")) and is_closed(text) and not any(mark in text for mark in _DIVIDING)
        is_plain = is_plain and len(roots) == 1 and not self.sentence.stays and not _WORDLESS.search(text)
        return roots[0] if is_plain and is_verb(self.tokens[roots[0]]) else None

    @cached_property
    def verb(self) -> int | None:
        """Number of the main verb's token; None where the sentence has another form."""
        if self.root is None:
            return None
        subjects = self.subjects(self.root)
        is_clause = subjects[0] < self.root if subjects else self.words[self.root] in lexicon.IMPERATIVES
        return self.root if is_clause else None

    def children(self, head: int) -> list[int]:
        """Numbers of the tokens that depend on a token."""
        return [n for n in range(len(self.tokens)) if self.sentence.head(n) == head and n != head]

    def subjects(self, verb: int) -> list[int]:
        """Numbers of the subjects of a verb."""
        return [number for number in self.children(verb) if self.tokens[number].dep_ in _SUBJECTS]

    def is_word(self, number: int) -> bool:
        """Whether a token has a letter or a digit."""
        return is_word(self.tokens[number])

    def has(self, dependencies: Iterable[str], numbers: Iterable[int]) -> bool:
        """Whether one of some tokens has one of these labels."""
        return any(self.tokens[number].dep_ in dependencies for number in numbers)

    @cached_property
    def lead(self) -> int:
        """Number of tokens at the beginning that no adjunct precedes: a coordinator, with its comma."""
        if self.tokens[0].dep_ != "cc":
            return 0
        return 1 + (self.words[1:2] == [","])

    def trimmed(self, first: int, last: int) -> tuple[int, int]:
        """Without punctuation at its edges."""
        while first < last and not self.is_word(first):
            first += 1
        while last > first and not self.is_word(last):
            last -= 1
        return first, last

    def is_title(self, number: int) -> bool:
        """Whether a word has a capital that it may keep or lose: of a title, or of no name that the parse knows."""
        token = self.tokens[number]
        following = self.tokens[number + 1 : number + 2]
        before_capital = token.pos_ not in ("PROPN", "NOUN") and any(
            other.text[0].isupper() and self.words[number + 1] != "i" for other in following
        )
        is_unknown = token.pos_ == "PROPN" and not is_name(token) and not any(t.pos_ == "PROPN" for t in following)
        return token.text[0].isupper() and self.words[number] != "i" and (before_capital or is_unknown)

    def refers(self, number: int) -> bool:
        """Whether a token is a pronoun, and not the determiner of a noun."""
        return self.words[number] in lexicon.PRONOUNS and self.tokens[number].dep_ not in ("det", "mark", "expl")

    @property
    def last(self) -> int:
        """Number of the last token that is a word."""
        return max(number for number in range(len(self.tokens)) if self.is_word(number))

    def is_whole(self, first: int, last: int) -> bool:
        """Whether these tokens are whole words, and brackets and quotes of theirs close."""
        return first <= last and self.sentence.whole(first, last) == (first, last)
