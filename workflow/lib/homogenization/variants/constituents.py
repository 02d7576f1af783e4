"""Constituents of a parsed sentence: the noun phrases that may be key, and what has to move with one of them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, groupby

import polars as pl

from homogenization.corpus.sentences import (
    BRACKETS,
    Chunk,
    chunks,
    is_parsed,
    sentence_spans,
    word_spans,
)
from homogenization.variants.phrases import Phrase, literal_phrase, overlap, term_of

# the longest constituent that moves as one, in words
MOST_WORDS = 6
# parts of a noun phrase or of a verb that do not move by themselves
_BOUND = frozenset(
    ("acl", "amod", "aux", "auxpass", "case", "cc", "compound", "dep", "det", "expl", "intj", "mark", "meta", "neg")
) | {"nmod", "nummod", "pcomp", "pobj", "poss", "preconj", "predet", "prt", "punct", "quantmod", "relcl", "ROOT"}
_LIST_NUMBER = re.compile(r"\(?\d{1,2}[.)]")


@dataclass(frozen=True)
class Token:
    """A token of a parse: its span in the review, the token that it depends on, its part of speech, and more.

    Attributes:
        start: First character in the review.
        end: Last character plus one.
        head: Number in the sentence of the token that it depends on; its own for the root.
        pos: Universal part of speech.
        tag: Part of speech of the Penn Treebank, with number and tense ("NNS", "VBD").
        dep: Label of the dependency.
        chunk: Number of its noun chunk in the sentence; None outside of noun chunks.
        name: Number of its name in the sentence; None outside of names.
    """

    start: int
    end: int
    head: int
    pos: str
    tag: str
    dep: str
    chunk: int | None
    name: int | None

    @property
    def is_verb(self) -> bool:
        """Whether it is a verb or an auxiliary."""
        return self.pos in ("VERB", "AUX")


class Sentence:
    """A parsed sentence of a review."""

    def __init__(self, text: str, span: tuple[int, int], number: int, tokens: Sequence[Token]):
        self.text, self.span, self.number, self.tokens = text, span, number, tokens
        self._phrases: dict[tuple[int, int], Phrase | None] = {}

    @property
    def written(self) -> str:
        """The sentence as the review has it."""
        return self.text[slice(*self.span)]

    @cached_property
    def chunks(self) -> list[Chunk]:
        """Its runs without white space."""
        return chunks(self.text, *self.span)

    @cached_property
    def subtrees(self) -> list[tuple[int, int] | None]:
        """First and last token of all that depends on each token; None where other tokens stand between them."""
        members: list[set[int]] = [{index} for index in range(len(self.tokens))]
        for index in range(len(self.tokens)):
            above, seen = index, {index}
            while (above := self.tokens[above].head) not in seen:
                members[above].add(index)
                seen.add(above)
        return [(min(group), max(group)) if max(group) - min(group) + 1 == len(group) else None for group in members]

    @property
    def stays(self) -> bool:
        """Whether the sentence stays as it is: it holds a number of a list ("2."), or is too long to be parsed."""
        return not is_parsed(self.text, *self.span) or any(
            _LIST_NUMBER.fullmatch(self.text[chunk.start : chunk.end]) for chunk in self.chunks
        )

    @property
    def proper_names(self) -> frozenset[str]:
        """The words that are names, or parts of names."""
        name_tokens = [token for token in self.tokens if token.name is not None or token.pos == "PROPN"]
        return frozenset(self.text[token.start : token.end] for token in name_tokens)

    def phrase(self, first: int, last: int) -> Phrase | None:
        """The words from token `first` to token `last` as a phrase.

        It is None if they are no whole words between spaces, if other words share their edges, or if a bracket or a
        quote opens in it and does not close.
        """
        if (first, last) not in self._phrases:
            self._phrases[first, last] = self._phrase(first, last)
        return self._phrases[first, last]

    def _phrase(self, first: int, last: int) -> Phrase | None:
        touched = [
            chunk
            for chunk in self.chunks
            if chunk.start < self.tokens[last].end and self.tokens[first].start < chunk.end and chunk.n_words
        ]
        if not touched:
            return None
        start, end = touched[0].core_start, touched[-1].core_end
        around = [token for token in self.tokens if token.start < end and start < token.end]
        outside = [t for t in around if not self.tokens[first].start <= t.start < self.tokens[last].end]
        # the rest of a contraction ('s, n't) is taken along by its word
        clinging = [t for t in outside if self.text[t.start : t.end][:1] in ("'", "’") or t.dep in ("case", "neg")]
        others = [self.text[t.start : t.end] for t in outside if t not in clinging]
        if any(any(map(str.isalnum, other)) for other in others) or not is_closed(self.text[start:end]):
            return None
        spans = word_spans(self.text, start, end)
        return Phrase(term_of(self.text[start:end]), self.number, spans[0][0], end)

    def content_phrases(self, ngram_range: tuple[int, int]) -> list[Phrase]:
        """Its noun chunks and names without determiners, pronouns and numbers before the first content word.

        Each ends with a noun or a name, and has no punctuation inside. Of a noun chunk that is too long, the first
        words are left out, but no name is cut.
        """
        phrases = {}
        ends = [t.pos in ("NOUN", "PROPN") or (t.name is not None and t.pos != "PART") for t in self.tokens]
        for kind in ("chunk", "name"):
            numbers = [getattr(token, kind) for token in self.tokens]
            for number, members in groupby(range(len(numbers)), numbers.__getitem__):
                if number is None:
                    continue
                indices = list(members)
                while indices and not ends[indices[-1]]:
                    indices.pop()
                phrase = self._shortened(indices, ngram_range)
                if phrase is not None:
                    phrases[phrase.start, phrase.end] = phrase
        return [phrases[place] for place in sorted(phrases)]

    def _shortened(self, indices: list[int], ngram_range: tuple[int, int]) -> Phrase | None:
        """The longest phrase that ends where `indices` end, begins with one of them, and is of an allowed length."""
        for first in indices:
            token = self.tokens[first]
            if token.name is None and (token.pos not in ("NOUN", "PROPN", "ADJ", "VERB") or token.dep == "poss"):
                continue
            if token.name is not None and first and self.tokens[first - 1].name == token.name:
                continue
            phrase = self.phrase(first, indices[-1])
            if phrase and ngram_range[0] <= len(phrase.term.split()) <= ngram_range[1]:
                run = [chunk for chunk in self.chunks if overlap(chunk, phrase)]
                if literal := literal_phrase(self.text, self.number, run):
                    return literal
        return None

    def constituent(self, start: int, end: int) -> Phrase | None:
        """What moves when the words between the characters `start` and `end` move: the largest of `_around`."""
        return next(self._around(start, end), None)

    def constituents(self) -> list[Phrase]:
        """All constituents of no more than `MOST_WORDS` words, in reading order; some contain others."""
        around = (
            phrase
            for token in self.tokens
            if token.pos not in ("PUNCT", "SYM", "X", "SPACE")
            for phrase in self._around(token.start, token.end)
        )
        whole = (self.phrase(*span) for span in self.subtrees if span is not None)
        short = (phrase for phrase in whole if phrase and len(phrase.term.split()) <= MOST_WORDS)
        phrases = {(phrase.start, phrase.end): phrase for phrase in chain(around, short)}
        return [phrases[place] for place in sorted(phrases)]

    def _around(self, start: int, end: int) -> Iterator[Phrase]:
        """The constituents of no more than `MOST_WORDS` words around some words, the largest first.

        They belong to the words' clause: a noun phrase with its determiner, or the phrase of the preposition before it.
        The last ones are the noun chunk with its preposition, the noun chunk, and the words themselves.
        """
        own = [index for index, token in enumerate(self.tokens) if token.start < end and start < token.end]
        if not own:
            return
        top = next((i for i in own if not own[0] <= self.tokens[i].head <= own[-1]), own[-1])
        above, index = [], top
        while not self.tokens[index].is_verb and index not in above:  # a clause does not move
            above.append(index)
            index = self.tokens[index].head
        spans = [self.subtrees[i] for i in reversed(above) if self.tokens[i].dep not in _BOUND]
        chunk = self.tokens[top].chunk
        members = [i for i, token in enumerate(self.tokens) if chunk is not None and token.chunk == chunk]
        if members and self.tokens[top].dep == "pobj" and self.tokens[top].head == members[0] - 1:
            spans.append((members[0] - 1, members[-1]))
        spans += [(members[0], members[-1])] if members else []
        for span in [*spans, (own[0], own[-1])]:
            phrase = self.phrase(*span) if span is not None else None
            if phrase and phrase.start <= start and end <= phrase.end and len(phrase.term.split()) <= MOST_WORDS:
                yield phrase

    def splits(self) -> frozenset[int]:
        """First characters of the words that continue a constituent: a phrase put before one of them would split it."""
        return frozenset(
            start
            for token in self.tokens
            if (phrase := self.constituent(token.start, token.end)) is not None
            for start, _ in word_spans(self.text, phrase.start, phrase.end)
            if start > phrase.start
        )


def is_closed(text: str) -> bool:
    """Whether every bracket and quote of `text` has its counterpart there, behind it."""
    closers, waiting = dict(BRACKETS), []
    for character in text:
        if character in closers:
            waiting.append(closers[character])
        elif character in closers.values() and (not waiting or waiting.pop() != character):
            return False
    return not waiting and text.count('"') % 2 == 0


def parsed_sentences(reviews: pl.DataFrame, parse: pl.DataFrame) -> dict[str, list[Sentence]]:
    """The sentences of each review.

    Args:
        reviews: Columns review_id, text.
        parse: Columns of `PARSE_SCHEMA`, as `parse_reviews` gives them.
    """
    tokens: dict[tuple[str, int], list[Token]] = {}
    for name, number, *token in parse.iter_rows():
        tokens.setdefault((name, number), []).append(Token(*token))
    return {
        name: [
            Sentence(text, span, number, tokens.get((name, number), []))
            for number, span in enumerate(sentence_spans(text))
        ]
        for name, text in reviews.select("review_id", "text").iter_rows()
    }
