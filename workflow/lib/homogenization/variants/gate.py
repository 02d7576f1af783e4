"""A gate for rewritten sentences: what one lost, added, or took apart, by its words and its parse; no model judges."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from homogenization.corpus.sentences import folded, starts, words
from homogenization.names.variants import REWORDINGS
from homogenization.variants.constituents import Sentence, is_closed, parsed_sentences
from homogenization.variants.construction_words import BOUND_PREPOSITIONS, CHANGED, DISCOURSE
from homogenization.variants.parsing import load_pipeline, parse_with

# words over those of the original; head-dependent pairs of the original that a new parse finds again
LENGTHS, LEAST_PAIRS = (0.9, 1.15), 0.9
# what a construction may leave out ("I think that it fails": "it fails, I think")
_MAY_GO = frozenset(("and", "are", "by", "is", "it", "that", "there", "was", "were", "what"))
_ADVERBIAL = frozenset(("prep", "advcl", "npadvmod", "advmod"))
_NOUNS = frozenset(("NOUN", "PROPN", "PRON"))
_OF_NOUNS = frozenset(("prep", "relcl", "acl", "appos"))
# the span of a constituent among the words of its sentence, end exclusive
_Span = tuple[int, int]


@dataclass(frozen=True)
class MovedWords:
    """A run of words that stands elsewhere in a candidate, which is else as its sentence.

    Attributes:
        words: The run, folded.
        before: Number of words before it in the candidate.
        behind: Number of words behind it there.
    """

    words: tuple[str, ...]
    before: int
    behind: int

    def puts(self, term: str, position: str | None) -> bool:
        """Whether the run holds the folded phrase `term` and stands at "front", "end", "inward", or (None) anywhere."""
        there = {"front": not self.before, "end": not self.behind, "inward": self.before and self.behind, None: True}
        return bool(starts(self.words, term)) and bool(there[position])


class Gate:
    """What candidates of sentences pass: `gate(original, text, way)` gives the first of their `objections`, or None.

    Args:
        parser: What parses the candidates, as in `parse_reviews`.

    Attributes:
        refused: How many candidates each reason refused.

    Raises:
        HomogenizationError: as `load_pipeline`.
    """

    def __init__(self, parser: Mapping[str, Any]):
        self._pipeline, self.refused = load_pipeline(parser), Counter()

    def parse(self, text: str) -> Sentence:
        """A sentence, parsed as those of reviews are."""
        alone = pl.DataFrame({"review_id": ["sentence"], "text": [text]})
        return parsed_sentences(alone, parse_with(self._pipeline, alone))["sentence"][0]

    def __call__(self, original: Sentence, text: str, way: str | None = None) -> str | None:
        """The first objection to `text` in the place of a sentence."""
        reason = next(iter(objections(original, self.parse(text), way)), None)
        self.refused.update([reason] if reason else [])
        return reason


def objections(original: Sentence, candidate: Sentence, way: str | None = None) -> list[str]:
    """Why a candidate does not pass, in the order of `refusals.REASONS`; nothing where it passes.

    Args:
        original: The parsed sentence.
        candidate: The rewritten one, parsed anew.
        way: The construction that it is (`names.variants.CONSTRUCTIONS`), which has words of its own and may move more
            than adjuncts; None: any that moves an adjunct of a verb.

    Returns:
        malformed: a quote or a bracket stays open. length: its words over the original's are outside `LENGTHS`. lost,
        repeated, added: a word is missing, more frequent, or new, but for those of the construction. adjunct: something
        else than one adjunct of a verb moved. detached: what hangs on a noun left it. parse: fewer than `LEAST_PAIRS`
        of the head-dependent pairs are kept. chunks: a noun chunk is not kept.
    """
    own, changes = CHANGED.get(way, frozenset()), word_changes(original.written, candidate.written)
    ratio = len(words(candidate.written)) / len(words(original.written))
    checks = {
        "malformed": is_closed(candidate.written),
        "length": LENGTHS[0] <= ratio <= LENGTHS[1],
        "lost": changes["lost"].keys() <= _MAY_GO | own,
        "repeated": changes["repeated"].keys() <= own,
        "added": changes["added"].keys() <= own,
        "adjunct": way in REWORDINGS or moved_adjunct(original, candidate.written) is not None,
        "detached": not _is_detached(original, words(candidate.written)),
        "parse": kept_pairs(original, candidate) >= LEAST_PAIRS,
        "chunks": _chunks(original) <= _chunks(candidate),
    }
    return [name for name, holds in checks.items() if not holds]


def word_changes(original: str, candidate: str) -> dict[str, Counter[str]]:
    """Words that a text has less often than the original (`lost`), more often (`repeated`), and new ones (`added`)."""
    before, after = Counter(words(original)), Counter(words(candidate))
    more = after - before
    repeated = Counter({word: count for word, count in more.items() if word in before})
    return {"lost": before - after, "repeated": repeated, "added": more - repeated}


def moved_adjunct(original: Sentence, text: str) -> MovedWords | None:
    """The adjunct of a verb that moved, where nothing else did and no word changed; None otherwise."""
    own, others = words(original.written), words(text)
    for first, end in _adjuncts(original):
        run, rest = own[first:end], own[:first] + own[end:]
        for at in range(len(rest) + 1):
            if at != first and rest[:at] + run + rest[at:] == others:
                return MovedWords(tuple(run), at, len(rest) - at)
    return None


def kept_pairs(original: Sentence, candidate: Sentence) -> float:
    """Share of the pairs (head, dependent) of words of the original that the parse of a candidate has too; 0 to 1."""
    pairs = _pairs(original)
    return (pairs & _pairs(candidate)).total() / pairs.total() if pairs else 1.0


def _folded(sentence: Sentence) -> list[str]:
    """The folded tokens; "" for punctuation."""
    texts = [folded(sentence.text[token.start : token.end]) for token in sentence.tokens]
    return [text if any(map(str.isalnum, text)) else "" for text in texts]


def _pairs(sentence: Sentence) -> Counter[tuple[str, str, bool]]:
    """Head, dependent, and whether the dependent does what the head, a verb, says: roles do not swap."""
    texts, pairs = _folded(sentence), Counter()
    for number, token in enumerate(sentence.tokens):
        if token.head != number and texts[token.head] and texts[number]:
            does = token.dep == "nsubj" and sentence.tokens[token.head].pos == "VERB"
            pairs[texts[token.head], texts[number], does] += 1
    return pairs


def _chunks(sentence: Sentence) -> Counter[tuple[str, ...]]:
    members: dict[int, list[str]] = {}
    for text, token in zip(_folded(sentence), sentence.tokens, strict=True):
        if token.chunk is not None and text:
            members.setdefault(token.chunk, []).append(text)
    return Counter(map(tuple, members.values()))


def _word_spans(sentence: Sentence) -> Iterator[tuple[int, _Span]]:
    """Of each token whose subtree has no gap: its number, and the span of the subtree in words."""
    text, start = sentence.text, sentence.span[0]
    for number, subtree in enumerate(sentence.subtrees):
        if subtree is not None:
            first, last = (sentence.tokens[index] for index in subtree)
            before = len(words(text[start : first.start]))
            yield number, (before, before + len(words(text[first.start : last.end])))


def _adjuncts(sentence: Sentence) -> Iterator[_Span]:
    """Spans of what depends on a verb and is none of its arguments, by the parse, and of phrases that always may."""
    own = words(sentence.written)
    for phrase in sorted(DISCOURSE):
        yield from ((first, first + len(phrase.split())) for first in starts(own, phrase))
    for number, (first, end) in _word_spans(sentence):
        token = sentence.tokens[number]
        is_adverbial = token.dep in _ADVERBIAL and sentence.tokens[token.head].is_verb
        if is_adverbial and first < end and own[first] not in BOUND_PREPOSITIONS:
            yield first, end


def _is_detached(sentence: Sentence, others: list[str]) -> bool:
    """Whether a noun does not stand before what hangs on it, as in the sentence, among the words of a candidate."""
    own = words(sentence.written)
    for number, (_, end) in _word_spans(sentence):
        token = sentence.tokens[number]
        head = sentence.tokens[token.head]
        if token.dep in _OF_NOUNS and head.pos in _NOUNS and head.start < token.start:
            first = len(words(sentence.text[sentence.span[0] : head.start]))
            if not starts(others, " ".join(own[first:end])):
                return True
    return False
