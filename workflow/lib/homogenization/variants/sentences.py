"""A parsed sentence: its runs between spaces, the noun phrases that may be key, and what moves with one of them."""

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from homogenization.corpus.sentences import BRACKETS
from homogenization.variants.parsing import SENTENCES
from homogenization.variants.phrases import Phrase, is_content, term_of

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span, Token

# the longest constituent that moves as one, in words
MOST_WORDS = 6
# parts of a noun phrase or of a verb that do not move by themselves
_BOUND = frozenset(
    ("acl", "amod", "aux", "auxpass", "case", "cc", "compound", "dep", "det", "expl", "intj", "mark", "meta", "neg")
) | {"nmod", "nummod", "pcomp", "pobj", "poss", "preconj", "predet", "prt", "punct", "quantmod", "relcl", "ROOT"}
# spaCy's kinds of entities that are names; the others are numbers and dates
_NAMES = frozenset(("PERSON", "NORP", "FAC", "ORG", "GPE", "LOC", "PRODUCT", "EVENT", "WORK_OF_ART", "LAW", "LANGUAGE"))
_LIST_NUMBER = re.compile(r"(^| )\(?\d{1,2}[.)]( |$)")


class Run(NamedTuple):
    """What stands between two spaces, by numbers of tokens, inclusive; `last` is below `first` in marks alone.

    From `first` to `last` is its core: its words with all that is part of them, without the marks around.
    """

    start: int
    first: int
    last: int
    end: int


class Sentence:
    """A parsed sentence of a review, whose tokens have numbers from 0.

    Attributes:
        number: Number of the sentence in the review, from 0.
        span: The sentence.
        tokens: Its tokens.
    """

    def __init__(self, number: int, span: "Span", chunks: Mapping[int, "Span"]):
        self.number, self.span, self.tokens = number, span, list(span)
        self._chunks = chunks

    @cached_property
    def runs(self) -> list[Run]:
        """Its runs, in reading order."""
        ends = [n for n, token in enumerate(self.tokens) if token.whitespace_ or n + 1 == len(self.tokens)]
        runs = []
        for start, end in zip([0, *(end + 1 for end in ends)], ends, strict=False):
            core = [n for n in range(start, end + 1) if not _is_mark(self.tokens[n])]
            has_word = any(map(is_word, (self.tokens[n] for n in core)))
            runs.append(Run(start, core[0], core[-1], end) if has_word else Run(start, start, start - 1, end))
        return runs

    def written(self, first: int, last: int) -> str:
        """The text from one token to another."""
        return self.span[first : last + 1].text

    def characters(self, first: int, last: int) -> tuple[int, int]:
        """First character of a token in the sentence, and the one behind another token."""
        start = self.span.start_char
        return self.tokens[first].idx - start, self.tokens[last].idx + len(self.tokens[last]) - start

    def core(self, run: Run) -> str:
        """The words of a run with all that is part of them; empty for marks alone."""
        return self.written(run.first, run.last) if run.first <= run.last else ""

    def head(self, number: int) -> int:
        """The number of the token that a token depends on; its own for the root."""
        return self.tokens[number].head.i - self.span.start

    @cached_property
    def subtrees(self) -> list[tuple[int, int] | None]:
        """First and last token of all that depends on each token; None where other tokens stand between them."""
        edges = [(t.left_edge.i - self.span.start, t.right_edge.i - self.span.start) for t in self.tokens]
        sizes = [sum(1 for _ in token.subtree) for token in self.tokens]
        return [edge if edge[1] - edge[0] + 1 == size else None for edge, size in zip(edges, sizes, strict=True)]

    @cached_property
    def stays(self) -> bool:
        """Whether the sentence stays as it is: it holds a number of a list ("2."), or was too long to be parsed."""
        return not any(token.dep_ == "ROOT" for token in self.tokens) or bool(_LIST_NUMBER.search(self.span.text))

    @property
    def proper_names(self) -> frozenset[str]:
        """The words that are names, or parts of names."""
        return frozenset(token.text for token in self.tokens if is_name(token) or token.pos_ == "PROPN")

    def whole(self, first: int, last: int) -> tuple[int, int] | None:
        """The cores of the runs around some tokens.

        It is None if other words share these runs, or if a bracket or a quote opens in them and does not close.
        """
        around = [run for run in self.runs if run.start <= last and first <= run.end and run.first <= run.last]
        if not around:
            return None
        start, end = around[0].first, around[-1].last
        outside = [self.tokens[n] for n in range(start, end + 1) if not first <= n <= last]
        # the rest of a contraction ('s, n't) is taken along by its word
        others = [t for t in outside if t.text[0] not in "'’" and t.dep_ not in ("case", "neg")]
        return None if any(map(is_word, others)) or not is_closed(self.written(start, end)) else (start, end)

    def phrase(self, first: int, last: int) -> Phrase | None:
        """The `whole` words from one token to another as a phrase; None where they can't be one."""
        found = self.whole(first, last)
        if found is None:
            return None
        start, end = self.tokens[found[0]].idx, self.tokens[found[1]].idx + len(self.tokens[found[1]])
        return Phrase(term_of(self.written(*found)), self.number, start, end)

    def content_terms(self, ngram_range: tuple[int, int]) -> Iterator[str]:
        """The terms of its noun chunks and names, without what precedes their first content word.

        Each ends with a noun or a name. Of a noun chunk that is too long, the first words are left out, but no name is
        cut.
        """
        start = self.span.start
        names = [name for name in self.span.ents if name.label_ in _NAMES]
        for of in chain({chunk.start: chunk for chunk in self._chunks.values()}.values(), names):
            numbers = [token.i - start for token in of if 0 <= token.i - start < len(self.tokens)]
            while numbers and not self._may_end(self.tokens[numbers[-1]]):
                numbers.pop()
            phrases = (self.phrase(n, numbers[-1]) for n in numbers if self._may_begin(self.tokens[n]))
            for phrase in phrases:
                if phrase and ngram_range[0] <= len(phrase.term.split()) <= ngram_range[1] and is_content(phrase.term):
                    yield phrase.term
                    break

    @staticmethod
    def _may_end(token: "Token") -> bool:
        return token.pos_ in ("NOUN", "PROPN") or (is_name(token) and token.pos_ != "PART")

    @staticmethod
    def _may_begin(token: "Token") -> bool:
        if is_name(token):
            return token.ent_iob_ == "B"
        return token.pos_ in ("NOUN", "PROPN", "ADJ", "VERB") and token.dep_ != "poss"

    def constituent(self, start: int, end: int) -> Phrase | None:
        """What moves when the words between two characters move: the largest of `_around`."""
        own = [n for n, token in enumerate(self.tokens) if token.idx < end and start < token.idx + len(token)]
        return next(self._around(own[0], own[-1]), None) if own else None

    def constituents(self) -> list[Phrase]:
        """All constituents of no more than `MOST_WORDS` words, in reading order; some contain others."""
        numbers = [n for n, token in enumerate(self.tokens) if token.pos_ not in ("PUNCT", "SYM", "X", "SPACE")]
        whole = (self.phrase(*span) for span in self.subtrees if span is not None)
        short = (phrase for phrase in whole if phrase and len(phrase.term.split()) <= MOST_WORDS)
        found = chain((phrase for n in numbers for phrase in self._around(n, n)), short)
        return sorted(dict.fromkeys(found), key=lambda phrase: (phrase.start, phrase.end))

    def _around(self, first: int, last: int) -> Iterator[Phrase]:
        """The constituents of no more than `MOST_WORDS` words around some tokens, the largest first.

        They belong to the tokens' clause: a noun phrase with its determiner, or that of the preposition before it. The
        last ones are the noun chunk with its preposition, the noun chunk, and the tokens themselves.
        """
        top = next((n for n in range(first, last + 1) if not first <= self.head(n) <= last), last)
        above, number = [], top
        while not is_verb(self.tokens[number]) and number not in above:  # a clause does not move
            above.append(number)
            number = self.head(number)
        spans = [self.subtrees[n] for n in reversed(above) if self.tokens[n].dep_ not in _BOUND]
        if chunk := self._chunks.get(self.tokens[top].i):
            members = (chunk.start - self.span.start, chunk.end - 1 - self.span.start)
            if self.tokens[top].dep_ == "pobj" and self.head(top) == members[0] - 1:
                spans.append((members[0] - 1, members[1]))
            spans.append(members)
        start, end = self.tokens[first].idx, self.tokens[last].idx + len(self.tokens[last])
        for span in [*spans, (first, last)]:
            phrase = self.phrase(*span) if span is not None else None
            if phrase and phrase.start <= start and end <= phrase.end and len(phrase.term.split()) <= MOST_WORDS:
                yield phrase

    def splits(self) -> frozenset[int]:
        """First tokens of the runs that continue a constituent: a phrase put before one of them would split it."""
        found = (next(self._around(n, n), None) for n in range(len(self.tokens)))
        inner = {phrase for phrase in found if phrase}
        starts = {run.first: self.tokens[run.first].idx for run in self.runs if run.first <= run.last}
        return frozenset(n for n, at in starts.items() if any(phrase.start < at < phrase.end for phrase in inner))


def sentences_of(doc: "Doc") -> list[Sentence]:
    """The sentences of a parsed review."""
    chunks = {token.i: chunk for chunk in doc.noun_chunks for token in chunk} if doc.has_annotation("DEP") else {}
    return [
        Sentence(number, span, {token.i: chunks[token.i] for token in span if token.i in chunks})
        for number, span in enumerate(doc.spans.get(SENTENCES, ()))
    ]


def is_word(token: "Token") -> bool:
    """Whether a token has a letter or a digit."""
    return any(map(str.isalnum, token.text))


def is_verb(token: "Token") -> bool:
    """Whether a token is a verb or an auxiliary."""
    return token.pos_ in ("VERB", "AUX")


def is_name(token: "Token") -> bool:
    """Whether a token belongs to a name."""
    return token.ent_type_ in _NAMES


def _is_mark(token: "Token") -> bool:
    """Whether a token is punctuation, and no symbol or apostrophe of a word ($, %, boys')."""
    return token.is_punct and token.dep_ != "case" and token.text not in "$%#+@"


def is_closed(text: str) -> bool:
    """Whether every bracket and quote of `text` has its counterpart there, behind it."""
    closers, waiting = dict(BRACKETS), []
    for character in text:
        if character in closers:
            waiting.append(closers[character])
        elif character in closers.values() and (not waiting or waiting.pop() != character):
            return False
    return not waiting and text.count('"') % 2 == 0
