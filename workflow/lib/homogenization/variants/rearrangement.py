"""How a sentence is written once its phrases stand elsewhere: its words, their marks, and capitals."""

import re
from collections.abc import Sequence
from itertools import takewhile

from homogenization.corpus.sentences import words
from homogenization.variants.capitals import begins_with_capital, begun, spelled_within
from homogenization.variants.phrases import Phrase, overlap
from homogenization.variants.positions import Layout
from homogenization.variants.sentences import Sentence

_CLOSERS = {"(": ")", "[": "]", "{": "}", "“": "”", "«": "»", "‘": "’", **{mark: mark for mark in "\"'*_`"}}
_STRENGTH = {",": 1, "-": 2, "–": 2, "—": 2, ":": 3, ";": 3, ".": 4, "…": 4, "?": 5, "!": 5}
_FINAL = 4
# characters that no cleaned review has: where a phrase was, and around each other word
_HOLE, _WORD, _END = "\0", "\1", "\2"
_DIVIDING = r"[-,;:.…?!–—]+"
_AROUND_HOLE = re.compile(rf"((?: ?{_DIVIDING})*)( ?){_HOLE}( ?)((?:{_DIVIDING}(?: {_DIVIDING})*)?)( ?)")


def _cores(sentence: Sentence, phrases: Sequence[Phrase]) -> list[tuple[int, int, int]]:
    """First character, the one behind the last, and number (or -1) of each phrase and other run."""
    cores: list[tuple[int, int, int]] = []
    for run in sentence.runs:
        start, end = sentence.characters(run.first, run.last)
        own = Phrase("", sentence.number, sentence.start + start, sentence.start + end)
        number = next((n for n, phrase in enumerate(phrases) if overlap(phrase, own)), -1)
        if number >= 0 and cores and cores[-1][2] == number:
            start = cores.pop()[0]
        cores.append((start, end, number))
    return cores


def layout_of(sentence: Sentence, phrases: Sequence[Phrase], inner: bool = False) -> Layout:
    """A sentence as a row of phrases and of other runs; an empty one where it has no phrase.

    Args:
        sentence: A parsed sentence.
        phrases: Those that move in it, in reading order, without overlaps.
        inner: Whether the slots that split a constituent are asked for.
    """
    slots, lengths, others, breaks = [], [], [], []
    splits = sentence.splits() if inner and phrases else ()
    for start, end, number in _cores(sentence, phrases) if phrases else ():
        n_words = len(words(sentence.text[start:end]))
        if number >= 0:
            slots.append(len(others))
            lengths.append(n_words)
        else:
            breaks += [len(others)] * (start in splits)
            others.append(n_words)
    return Layout(slots, lengths, others, frozenset(breaks))


def rearranged(
    sentence: Sentence, phrases: Sequence[Phrase], slot: int, names: frozenset[str]
) -> tuple[str, list[int]]:
    """A sentence with its phrases together in a slot, and the first character of each phrase in it.

    Quotes and brackets around a phrase alone go with it, and the sentence keeps its stop. All other marks stay; of
    those that meet, the strongest is left, and none but a stop leads the sentence.

    Args:
        sentence: A parsed sentence.
        phrases: Those that move in it.
        slot: Number of other runs before them.
        names: Words that keep their capital wherever they stand.
    """
    rest, moved = _without(sentence, phrases, names)
    head, tail = _cut(rest, slot)
    written, starts = re.sub(f"[{_WORD}{_END}]", "", head), []
    for number, (phrase, offset) in enumerate(moved):
        written += " " * (number > 0)
        starts.append(len(written) + offset)
        written += phrase
    written += re.sub(f"[{_WORD}{_END}]", "", tail)
    if begins_with_capital(sentence):
        written = begun(written)
    return re.sub(r"(?<=\w\.)\.$", "", written), starts


def _without(sentence: Sentence, phrases: Sequence[Phrase], names: frozenset[str]) -> tuple[str, list[tuple[str, int]]]:
    """A sentence without its phrases, and each of them, with quotes or brackets that enclose it alone, and its offset.

    ("Oz,") leaves its comma where it was, and ("Help!") takes its mark along unless that ends the sentence.
    """
    text, rest, moved, at = spelled_within(sentence, names), "", [], 0
    for start, end, number in _cores(sentence, phrases):
        rest, at = rest + text[at:start], end - (end == len(text) and text[-1] == ".")  # "Jr." ends in the stop
        if number < 0:
            rest += _WORD + text[start:at] + _END
            continue
        phrase, opener = text[start:at], rest[-1:]
        enclosed = re.match(rf"((?:{_DIVIDING})?)(\S)", text[at:])
        if enclosed is None or _CLOSERS.get(opener) != enclosed[2]:
            moved.append((phrase, 0))
            rest += _HOLE
            continue
        at += enclosed.end()
        is_last = not any(map(str.isalnum, text[at:]))
        left = enclosed[1] if is_last or _strength(enclosed[1]) < _FINAL else ""
        moved.append((opener + phrase + enclosed[1].removesuffix(left) + enclosed[2], 1))
        rest = rest[:-1] + _HOLE + left
    rest += text[at:]
    while hole := _AROUND_HOLE.search(rest):
        rest = rest[: hole.start()] + _mended(hole) + rest[hole.end() :]
    return rest, moved


def _strength(marks: str) -> int:
    """How strongly marks divide: 0 for a quote, 1 for a comma, `_FINAL` and more for the end of a sentence."""
    return max((_STRENGTH.get(mark, 0) for mark in marks), default=0)


def _mended(hole: re.Match) -> str:
    """What is left where a phrase has gone: of marks that meet the strongest, and none where a text or quote begins."""
    left, before, after, right, behind = hole.groups()
    ahead, space = hole.string[: hole.start()], before and (behind if right else after)
    if not ahead or not ((left or before).startswith(" ") or _END in ahead.rsplit(" ", 1)[-1]):
        return left + space
    marks = [*re.findall(f" ?{_DIVIDING}", left), *re.findall(f" ?{_DIVIDING}", after + right)]
    return max(reversed(marks), key=_strength, default="") + (behind if right else space)


def _cut(rest: str, slot: int) -> tuple[str, str]:
    """Cut a sentence behind `slot` words, where phrases go: before the next word, or before the stop.

    Marks around the whole sentence, and the stop before its first word ("...and then"), enclose the phrases too. Where
    a quote or bracket closes at the end, `."` becomes `".`, so that the phrases fit between it and the stop.
    """
    starts = [word.start() for word in re.finditer(_WORD, rest)]
    if slot < len(starts):
        at = starts[slot]
        marks = re.search(rf"[^ {_END}]*$", rest[:at])[0]
        closing = "".join(re.findall(rf"{_END}([^ {_WORD}]*)", rest[at : starts[-1]]))
        own = marks if slot else list(takewhile(lambda mark: _CLOSERS.get(mark, " ") in closing, reversed(marks)))
        return rest[: at - len(own)], " " + rest[at - len(own) :]
    head, _, tail = rest.rpartition(_END)
    outside = re.sub(f"{_WORD}[^{_END}]*{_END}?", "", head)[head[0] != _WORD :]
    opened = {_CLOSERS.get(mark) for mark in outside}
    marks = re.findall(rf" ?(?:{_DIVIDING}|.)", tail)
    if closing := [mark for mark in marks if mark in opened]:
        dividing = max(reversed(marks), key=_strength)
        marks = [mark for mark in marks if mark not in opened and (mark is dividing or not _strength(mark))]
    else:
        closing = list(takewhile(lambda mark: mark[0] != " " and not _strength(mark), marks))
        marks = marks[len(closing) :]
    return head + "".join(closing) + " ", "".join(marks)
