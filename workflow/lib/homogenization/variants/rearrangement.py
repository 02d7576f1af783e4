"""How a sentence is written once its phrases stand in another order: its words, their marks, and capitals."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from homogenization.corpus.sentences import words
from homogenization.variants.capitals import begins_with_capital, capitalised, within_a_sentence
from homogenization.variants.phrases import Phrase
from homogenization.variants.positions import Layout
from homogenization.variants.sentences import Run, Sentence

_CLOSERS = {"(": ")", "[": "]", "{": "}", "“": "”", "«": "»", "‘": "’", **{mark: mark for mark in "\"'*_`"}}
_STRENGTH = {",": 1, "-": 2, "–": 2, "—": 2, ":": 3, ";": 3, ".": 4, "…": 4, "?": 5, "!": 5}
_FINAL = 4
_CONNECTORS = frozenset("&+/=")


@dataclass(frozen=True)
class Part:
    """The words of a run with all that is part of them, or a mark beside them.

    Attributes:
        text: The characters.
        phrase: Number of the phrase of a word, -1 outside of phrases; None for a mark.
        clings_left: Whether no space precedes it.
        clings_right: Whether no space follows it.
    """

    text: str
    phrase: int | None = None
    clings_left: bool = False
    clings_right: bool = False

    @property
    def strength(self) -> int:
        """How strongly a mark divides: 0 for a quote, 1 for a comma, `_FINAL` and more for the end of a sentence."""
        return 0 if self.phrase is not None else max(_STRENGTH.get(character, 0) for character in self.text)


def layout_of(sentence: Sentence, phrases: Sequence[Phrase], splits: frozenset[int] = frozenset()) -> Layout:
    """A sentence as a row of phrases and of other words; an empty one where it has no phrase.

    Args:
        sentence: A parsed sentence.
        phrases: Those that move in it, in reading order, without overlaps.
        splits: First tokens of runs before which a phrase would split a constituent, as `Sentence.splits` gives them.
    """
    order, lengths, breaks = [], [], set()
    for run in sentence.runs if phrases else ():
        if not (core := sentence.core(run)):
            continue
        number = _phrase_of(sentence, run, phrases)
        if number == -1 and run.first in splits:
            breaks.add(order.count(-1))
        if number >= 0 and number in order:
            lengths[order.index(number)] += len(words(core))
        else:
            order.append(number)
            lengths.append(len(words(core)))
    return Layout(order, lengths, frozenset(breaks))


def _phrase_of(sentence: Sentence, run: Run, phrases: Sequence[Phrase]) -> int:
    """The number of the phrase that shares words with a run; -1 without one."""
    start, end = (at + sentence.span.start_char for at in sentence.characters(run.first, run.last))
    return next((n for n, phrase in enumerate(phrases) if phrase.start < end and start < phrase.end), -1)


def rearranged(
    sentence: Sentence, phrases: Sequence[Phrase], order: Sequence[int], names: frozenset[str]
) -> tuple[str, list[int]]:
    """A sentence with its phrases moved, and the first character of each phrase in it.

    Quotes and brackets around a phrase alone go with it, and the sentence keeps its stop. All other marks stay; of
    those that meet, the strongest is left, and none but a stop leads the sentence.

    Args:
        sentence: A parsed sentence.
        phrases: Those that move in it.
        order: The new order: numbers of phrases, and -1 for the next other word.
        names: Words that keep their capital wherever they stand.
    """
    if order == layout_of(sentence, phrases).order:  # all phrases are in place, so marks stay too
        return sentence.span.text, [phrase.start - sentence.span.start_char for phrase in phrases]
    rest, moved = _parts(sentence, phrases, within_a_sentence(sentence, names)), []
    for number in reversed(range(len(phrases))):
        first, last, left = _with_enclosure(rest, number)
        moved.insert(0, [part for part in rest[first : last + 1] if part not in left])
        rest[first : last + 1] = left
        _mend(rest, first)
    n_others = order.count(-1)
    if n_others and order[-1] >= 0:
        _stop_last(rest)
    result = list(rest)
    for slot, number in reversed([(order[:at].count(-1), number) for at, number in enumerate(order) if number >= 0]):
        gap = _gap(rest, slot)
        result[gap:gap] = moved[number]
    if begins_with_capital(sentence):
        first = next(at for at, part in enumerate(result) if part.phrase is not None)
        result[first] = replace(result[first], text=capitalised(result[first].text))
    text, starts = "", {}
    for before, part in zip([None, *result], result, strict=False):
        if before and not (before.clings_right or part.clings_left):
            text += " "
        starts.setdefault(part.phrase, len(text))
        text += part.text
    return re.sub(r"(?<=\w\.)\.$", "", text), [starts[number] for number in range(len(phrases))]


def _parts(sentence: Sentence, phrases: Sequence[Phrase], first_word: str) -> list[Part]:
    """The words and marks of a sentence; `first_word` is how its first word is spelled."""
    parts = []
    for run in sentence.runs:
        core, tokens = sentence.core(run), [token.text for token in sentence.tokens[run.start : run.end + 1]]
        if not core:
            parts.append(Part("".join(tokens)))
            continue
        ahead, behind = tokens[: run.first - run.start], tokens[run.last - run.start + 1 :]
        if run == sentence.runs[-1] and core.endswith(".") and not behind:  # an abbreviation ends in the stop
            core, behind = core[:-1], ["."]
        if all(part.phrase is None for part in parts):
            core = first_word.removesuffix("." * (core + "." == first_word))
        parts += [Part(text, clings_right=True) for text in _marks(ahead)]
        parts.append(Part(core, _phrase_of(sentence, run, phrases)))
        parts += [Part(text, clings_left=True) for text in _marks(behind)]
    return parts


def _marks(tokens: Sequence[str]) -> list[str]:
    """Marks, of which those that divide are one where they meet ("?!")."""
    runs = groupby(tokens, lambda text: Part(text).strength > 0)
    return [mark for divides, run in runs for mark in (["".join(run)] if divides else run)]


def _with_enclosure(parts: Sequence[Part], number: int) -> tuple[int, int, list[Part]]:
    """First and last part of a phrase, with quotes or brackets that enclose it alone; and the marks in them that stay.

    ("Oz,") leaves its comma where it was, and ("Help!") takes its mark along unless that ends the sentence.
    """
    own = [at for at, part in enumerate(parts) if part.phrase == number]
    first, last = own[0], own[-1]
    behind = next((at for at in range(last + 1, len(parts)) if not parts[at].strength), len(parts))
    closer = parts[behind].text if behind < len(parts) and parts[behind].clings_left else None
    if not first or closer is None or _CLOSERS.get(parts[first - 1].text) != closer:
        return first, last, []
    is_last = all(part.phrase is None for part in parts[last + 1 :])
    inner = parts[last + 1 : behind]
    return first - 1, behind, [mark for mark in inner if is_last or mark.strength < _FINAL]


def _mend(parts: list[Part], at: int) -> None:
    """Of the marks that meet where a phrase has left, keep the strongest, and none at the beginning of a quote."""
    first, last = at, at
    while first and parts[first - 1].strength:
        first -= 1
    while last < len(parts) and parts[last].strength:
        last += 1
    strongest = max(reversed(parts[first:last]), key=lambda mark: mark.strength, default=None)
    if first == 0 or parts[first - 1].clings_right:
        parts[first:last] = parts[first:at] if last < len(parts) else parts[first:last]
    elif strongest:
        parts[first:last] = [strongest]


def _stop_last(parts: list[Part]) -> None:
    """End a sentence in `".` instead of `."`, so that a phrase fits between a last quote or bracket and the stop."""
    last = max(at for at, part in enumerate(parts) if part.phrase is not None)
    opened = {_CLOSERS.get(part.text) for part in parts[1:last] if part.clings_right}
    closing = [part for part in parts[last + 1 :] if part.text in opened]
    if closing:
        marks = [part for part in parts[last + 1 :] if part.text not in opened]
        strongest = max(reversed(marks), key=lambda mark: mark.strength, default=None)
        parts[last + 1 :] = [*closing, *(mark for mark in marks if mark is strongest or not mark.strength)]


def _gap(rest: Sequence[Part], slot: int) -> int:
    """Where a phrase goes that stands behind `slot` other words: before the next, or before the stop.

    Marks around the whole sentence, and the stop before its first word ("...and then"), enclose the phrase too.
    """
    at_words = [at for at, part in enumerate(rest) if part.phrase is not None]
    if slot == len(at_words):
        gap = at_words[-1] + 1 if at_words else len(rest)
        while gap < len(rest) and (rest[gap].text in _CONNECTORS or (rest[gap].clings_left and not rest[gap].strength)):
            gap += 1
        return gap
    gap = at_words[slot]
    early = {part.text for part in rest[gap : at_words[-1]] if part.clings_left}
    while gap and rest[gap - 1].clings_right and (slot or _CLOSERS.get(rest[gap - 1].text) in early):
        gap -= 1
    return gap
