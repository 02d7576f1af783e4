"""The main clause of a parsed sentence, and its phrases that a construction of English puts elsewhere."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from homogenization.corpus.sentences import folded
from homogenization.variants import construction_words as lexicon
from homogenization.variants.atoms import Atom, atoms_of, render, with_capital, without_sentence_capital
from homogenization.variants.constituents import Sentence, is_closed

_SUBJECTS = frozenset(("nsubj", "nsubjpass", "expl"))
_DIVIDING = (";", ":", "--", " - ", "–", "—", "..", "…")
# brackets that hold a mark
_WORDLESS = re.compile(r"[(\[{]\W+[)\]}]")
_COMMA = Atom(",", "mark", clings_left=True)
#: First and last token of a part of a sentence.
Span = tuple[int, int]


class MainClause:
    """The only main clause of a sentence: a statement with its subject before its verb, or an imperative.

    A sentence with two roots, with a colon or a dash, or with a question mark has none.
    """

    def __init__(self, sentence: Sentence):
        self.sentence, self.tokens = sentence, sentence.tokens
        self.words = [folded(sentence.text[token.start : token.end]) for token in self.tokens]

    @cached_property
    def root(self) -> int | None:
        """Number of the only root's token, a verb, of a sentence that ends with a stop; None for other sentences."""
        text = self.sentence.written
        roots = [number for number, token in enumerate(self.tokens) if token.dep == "ROOT"]
        is_plain = text.endswith((".", "!")) and is_closed(text) and not any(mark in text for mark in _DIVIDING)
        is_plain = is_plain and len(roots) == 1 and not self.sentence.stays and not _WORDLESS.search(text)
        return roots[0] if is_plain and self.tokens[roots[0]].is_verb else None

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
        return [number for number, token in enumerate(self.tokens) if token.head == head and number != head]

    def subjects(self, verb: int) -> list[int]:
        """Numbers of the subjects of a verb."""
        return [number for number in self.children(verb) if self.tokens[number].dep in _SUBJECTS]

    def is_word(self, number: int) -> bool:
        """Whether a token has a letter or a digit."""
        return any(map(str.isalnum, self.words[number]))

    def has(self, dependencies: Iterable[str], numbers: Iterable[int]) -> bool:
        """Whether one of some tokens has one of these labels."""
        return any(self.tokens[number].dep in dependencies for number in numbers)

    @cached_property
    def lead(self) -> int:
        """Number of tokens at the beginning that no adjunct precedes: a coordinator, with its comma."""
        if self.tokens[0].dep != "cc":
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
        text, token = self.sentence.text, self.tokens[number]
        following = self.tokens[number + 1 : number + 2]
        before_capital = token.pos not in ("PROPN", "NOUN") and any(
            text[other.start].isupper() and self.words[number + 1] != "i" for other in following
        )
        is_unknown = token.pos == "PROPN" and token.name is None and not any(t.pos == "PROPN" for t in following)
        return text[token.start].isupper() and self.words[number] != "i" and (before_capital or is_unknown)

    def refers(self, number: int) -> bool:
        """Whether a token is a pronoun, and not the determiner of a noun."""
        return self.words[number] in lexicon.PRONOUNS and self.tokens[number].dep not in ("det", "mark", "expl")

    @property
    def last(self) -> int:
        """Number of the last token that is a word."""
        return max(number for number in range(len(self.tokens)) if self.is_word(number))

    def is_whole(self, first: int, last: int) -> bool:
        """Whether these tokens are whole words, and brackets and quotes of theirs close."""
        phrase = self.sentence.phrase(first, last) if first <= last else None
        return phrase is not None and (phrase.start, phrase.end) == (self.tokens[first].start, self.tokens[last].end)


@dataclass(frozen=True)
class Move:
    """A phrase of a sentence that can stand at its front and at its end.

    Attributes:
        construction: What the phrase is, one of `names.variants.CONSTRUCTIONS`.
        clause: The clause that it belongs to.
        phrase: Its first and last token.
        orders: By "front" and "end", the parts of the sentence behind its lead: spans of tokens, each `is_whole`, and
            commas. What no part holds is left out. None where the phrase stands already.
    """

    construction: str
    clause: MainClause
    phrase: Span
    orders: Mapping[str, Sequence[Span | str] | None]

    def written(self, place: str, names: frozenset[str]) -> tuple[str, int]:
        """The sentence with the phrase at a place, and the first character of the phrase in it.

        Where the phrase stands there, the sentence is as it was. Otherwise quotes and brackets go with their words, the
        stops come last, and capitals follow the new first word; `names` are the words that keep theirs.
        """
        sentence = self.clause.sentence
        start, end = self.characters
        if self.orders[place] is None:
            return sentence.written, start - sentence.span[0]
        atoms = atoms_of(sentence.text, *sentence.span)
        first_word = _first_word(atoms)
        capitalised = not atoms[first_word].text[0].islower()
        atoms[first_word] = without_sentence_capital(atoms, first_word, names)
        stops = atoms[len(atoms) - next(n for n, atom in enumerate(reversed(atoms)) if atom.kind != "mark") :]
        # "But, of course, it works": the comma is the phrase's
        n_lead = min(self.clause.lead, 1) if self.phrase[0] == self.clause.lead else self.clause.lead
        lead = [(0, 0), ","][:n_lead]
        result = [*chain(*(self._atoms_of(part, atoms) for part in [*lead, *self.orders[place]])), *stops]
        if capitalised:
            first_word = _first_word(result)
            result[first_word] = with_capital(result[first_word])
        text, starts = render(result)
        return text, next(
            at for at, atom in zip(starts, result, strict=True) if atom.span and start <= atom.span[0] < end
        )

    @property
    def characters(self) -> Span:
        """First character of the phrase in the review, and its last plus one."""
        first, last = self.phrase
        return self.clause.tokens[first].start, self.clause.tokens[last].end

    def _atoms_of(self, part: Span | str, atoms: Sequence[Atom]) -> Sequence[Atom]:
        if isinstance(part, str):
            return [_COMMA]
        start, end = self.clause.tokens[part[0]].start, self.clause.tokens[part[1]].end
        own = [n for n, atom in enumerate(atoms) if atom.span and atom.span[0] < end and start < atom.span[1]]
        first, last = own[0], own[-1]
        while first and atoms[first - 1].kind == "open":
            first -= 1
        while last + 1 < len(atoms) and atoms[last + 1].kind == "close":
            last += 1
        return atoms[first : last + 1]


def _first_word(atoms: Sequence[Atom]) -> int:
    return next(number for number, atom in enumerate(atoms) if atom.kind == "word")
