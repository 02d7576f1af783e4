"""A parsed sentence: its runs between spaces, the noun phrases that may be key, and what moves with one of them."""

import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from homogenization.corpus.sentences import sentence_spans
from homogenization.variants.phrases import Phrase, is_content, term_of

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

# the longest constituent that moves as one, in words
MOST_WORDS = 6
# parts of a noun phrase or of a verb that do not move by themselves
_BOUND = frozenset(
    ("acl", "amod", "aux", "auxpass", "case", "cc", "compound", "dep", "det", "expl", "intj", "mark", "meta", "neg")
) | {"nmod", "nummod", "pcomp", "pobj", "poss", "preconj", "predet", "prt", "punct", "quantmod", "relcl", "ROOT"}
# spaCy's kinds of entities that are names; the others are numbers and dates
_NAMES = frozenset(("PERSON", "NORP", "FAC", "ORG", "GPE", "LOC", "PRODUCT", "EVENT", "WORK_OF_ART", "LAW", "LANGUAGE"))
_APOSTROPHES = ("'", "’")
# brackets and quotes whose marks differ, each opening before it closes
_BRACKETS = ("()", "[]", "{}", "“”", "«»")
_LIST_NUMBER = re.compile(r"(^| )\(?\d{1,2}[.)]( |$)")


class Run(NamedTuple):
    """What stands between two spaces and holds a word, by numbers of tokens, inclusive.

    From `first` to `last` is its core: its words with all that is part of them, without the marks around.
    """

    start: int
    first: int
    last: int
    end: int


class Sentence:
    """A parsed sentence of a review.

    Attributes:
        number: Number of the sentence in the review, from 0.
        start: Its first character in the review.
        text: Its characters.
        doc: Its tokens, with numbers from 0; none where it was too long to be parsed.
    """

    def __init__(self, number: int, start: int, text: str, doc: "Doc"):
        self.number, self.start, self.text, self.doc = number, start, text, doc

    @cached_property
    def runs(self) -> list[Run]:
        """Its runs, in reading order."""
        runs, start = [], 0
        for end, token in enumerate(self.doc):
            if token.whitespace_ or end + 1 == len(self.doc):
                core = [n for n in range(start, end + 1) if not _is_mark(self.doc[n])]
                if any(is_word(self.doc[n]) for n in core):
                    runs.append(Run(start, core[0], core[-1], end))
                start = end + 1
        return runs

    def core(self, run: Run) -> str:
        """The words of a run with all that is part of them."""
        return self.doc[run.first : run.last + 1].text

    def characters(self, first: int, last: int) -> tuple[int, int]:
        """First character of a token in the sentence, and the one behind another token."""
        return self.doc[first].idx, self.doc[last].idx + len(self.doc[last])

    @cached_property
    def subtrees(self) -> list[tuple[int, int] | None]:
        """First and last token of all that depends on each token; None where other tokens stand between them."""
        edges = [(token.left_edge.i, token.right_edge.i) for token in self.doc]
        sizes = [sum(1 for _ in token.subtree) for token in self.doc]
        return [edge if edge[1] - edge[0] + 1 == size else None for edge, size in zip(edges, sizes, strict=True)]

    @property
    def stays(self) -> bool:
        """Whether the sentence stays as it is: it was too long to be parsed, or holds a number of a list ("2.")."""
        return not self.doc or _LIST_NUMBER.search(self.text) is not None

    @property
    def proper_names(self) -> frozenset[str]:
        """The words that are names, or parts of names."""
        return frozenset(token.text for token in self.doc if is_name(token) or token.pos_ == "PROPN")

    def whole(self, first: int, last: int) -> tuple[int, int] | None:
        """The cores of the runs around some tokens.

        It is None if other words share these runs, or if a bracket or a quote opens in them and does not close.
        """
        around = [run for run in self.runs if run.start <= last and first <= run.end]
        if not around:
            return None
        start, end = around[0].first, around[-1].last
        outside = [self.doc[n] for n in range(start, end + 1) if not first <= n <= last]
        # the rest of a contraction ('s, n't) is taken along by its word
        others = [token for token in outside if token.text[0] not in "'’" and token.dep_ not in ("case", "neg")]
        return None if any(map(is_word, others)) or not is_closed(self.doc[start : end + 1].text) else (start, end)

    def phrase(self, first: int, last: int) -> Phrase | None:
        """The `whole` words from one token to another as a phrase; None where they can't be one."""
        found = self.whole(first, last)
        if found is None:
            return None
        start, end = self.characters(*found)
        return Phrase(term_of(self.text[start:end]), self.number, self.start + start, self.start + end)

    def content_terms(self, most_words: int) -> Iterator[str]:
        """The terms of its noun chunks and names, without what precedes their first content word.

        Each ends with a noun or a name. Of a noun chunk of more than `most_words`, the first are left out, but no name
        is cut.
        """
        names = [name for name in self.doc.ents if name.label_ in _NAMES]
        for tokens in map(list, chain(self.doc.noun_chunks, names)):
            while tokens and not _may_end(tokens[-1]):
                tokens.pop()
            phrases = (self.phrase(token.i, tokens[-1].i) for token in tokens if _may_begin(token))
            for phrase in phrases:
                if phrase and len(phrase.term.split()) <= most_words and is_content(phrase.term):
                    yield phrase.term
                    break

    def constituent(self, phrase: Phrase) -> Phrase:
        """What moves when a phrase of the sentence moves: the largest of `_around`."""
        start, end = phrase.start - self.start, phrase.end - self.start
        own = [token.i for token in self.doc if token.idx < end and start < token.idx + len(token)]
        return next(self._around(own[0], own[-1]), phrase)

    def constituents(self) -> list[Phrase]:
        """All constituents of no more than `MOST_WORDS` words, in reading order; some contain others."""
        numbers = [token.i for token in self.doc if token.pos_ not in ("PUNCT", "SYM", "X", "SPACE")]
        found = dict.fromkeys(phrase for n in numbers for phrase in self._around(n, n))
        return sorted(found, key=lambda phrase: (phrase.start, phrase.end))

    @cached_property
    def _chunks(self) -> dict[int, tuple[int, int]]:
        """First and last token of the noun chunk of a token."""
        return {token.i: (chunk.start, chunk.end - 1) for chunk in self.doc.noun_chunks for token in chunk}

    def _around(self, first: int, last: int) -> Iterator[Phrase]:
        """The constituents of no more than `MOST_WORDS` words around some tokens, the largest first.

        They belong to the tokens' clause: a noun phrase with its determiner, or that of the preposition before it. The
        last ones are the noun chunk with its preposition, the noun chunk, and the tokens themselves.
        """
        own = self.doc[first : last + 1]
        top = next((token for token in own if token.head not in own), self.doc[last])
        above, token = [], top
        while not is_verb(token) and token not in above:  # a clause does not move
            above.append(token)
            token = token.head
        spans = [self.subtrees[token.i] for token in reversed(above) if token.dep_ not in _BOUND]
        if chunk := self._chunks.get(top.i):
            if top.dep_ == "pobj" and top.head.i == chunk[0] - 1:
                spans.append((chunk[0] - 1, chunk[1]))
            spans.append(chunk)
        for span in [*spans, (first, last)]:
            if span is not None and span[0] <= first and last <= span[1]:
                phrase = self.phrase(*span)
                if phrase and len(phrase.term.split()) <= MOST_WORDS:
                    yield phrase

    def splits(self) -> set[int]:
        """First characters of the runs that continue a constituent: a phrase put before one would split it."""
        inner = {next(self._around(n, n), None) for n in range(len(self.doc))} - {None}
        starts = {self.doc[run.first].idx for run in self.runs}
        return {at for at in starts if any(phrase.start < self.start + at < phrase.end for phrase in inner)}


def sentences_of(texts: Iterable[str], parse: "Iterable[Doc]") -> list[list[Sentence]]:
    """The parsed sentences of each review, from the `Doc` of each sentence in turn."""
    docs = iter(parse)
    return [
        [Sentence(n, start, text[start:end], next(docs)) for n, (start, end) in enumerate(sentence_spans(text))]
        for text in texts
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


def _may_end(token: "Token") -> bool:
    return token.pos_ in ("NOUN", "PROPN") or (is_name(token) and token.pos_ != "PART")


def _may_begin(token: "Token") -> bool:
    if is_name(token):
        return token.ent_iob_ == "B"
    return token.pos_ in ("NOUN", "PROPN", "ADJ", "VERB") and token.dep_ != "poss"


def _is_mark(token: "Token") -> bool:
    """Whether a token is punctuation, and no symbol or apostrophe of a word ($, %, boys', cafe')."""
    if token.text in _APOSTROPHES and not any(map(_opens_quote, token.doc[: token.i])):
        return _opens_quote(token)
    return token.is_punct and token.dep_ != "case" and token.text not in "$%#+@"


def _opens_quote(token: "Token") -> bool:
    before = token.doc[token.i - 1]
    return token.text in "'‘" and not token.whitespace_ and (not token.i or before.whitespace_ != "" or before.is_punct)


def is_closed(text: str) -> bool:
    """Whether every bracket and quote of `text` has its counterpart there, behind it."""
    closers, waiting = dict(_BRACKETS), []
    for character in text:
        if character in closers:
            waiting.append(closers[character])
        elif character in closers.values() and (not waiting or waiting.pop() != character):
            return False
    return not waiting and text.count('"') % 2 == 0
