"""Regular expressions of a rewritten sentence: they put its key phrase to a place, and leave the other words open.

They hold what Python's `re`, llguidance (Rust) and the grammars of servers read alike: characters, classes, groups,
alternatives and bounded repetition. A word is a run of ASCII letters with apostrophes and hyphens inside, or a run of
other characters as the sentence itself has it ("3.5", "Dr.", an emoji). So a number or a mark that the sentence does
not have cannot be written, and no sentence ends within another. Where the sentence has the last word of the key phrase
once, no word behind or before the phrase begins with it: many a writer would come to the phrase a second time.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from string import ascii_lowercase
from typing import NamedTuple

from homogenization.corpus.sentences import BRACKETS, chunks, starts, words

STOPS = ".!?…"
_CLOSERS = frozenset('"' + "".join(pair[1] for pair in BRACKETS))
DETERMINERS = ("the", "a", "an", "this", "that", "these", "those", "his", "her", "its", "their", "my", "our", "your")
PREPOSITIONS = ("in", "on", "at", "for", "with", "from", "by", "as", "of", "to", "about", "like", "despite", "through")
# what follows a phrase that is made the subject
_BE = "is|are|was|were"
_VERBS = f"{_BE}|has|have|had|can|could|will|would|makes|make|made"
# without a bound, a writer at its last word goes on with hyphens and capitals
_LATER = "(?:['’-](?:[A-Z]?[a-z]+|[A-Z]+)){0,2}"
_META = frozenset("\\.+*?()|[]{}^$/")
# the most words before a phrase, or behind it: over the words of the sentence, and how many more. A writer that may go
# on for long does not come to the phrase.
_LONGEST, _MORE = 1.1, 2
_BEFORE_INWARD = 3  # words, more than stand before a phrase at the front


class Beginning(NamedTuple):
    """A text of a sentence that may begin it, and what joins it with a key phrase that goes to the end.

    Attributes:
        text: The text.
        link: Of a phrase that is the subject, "by" where the text is the object (a passive) and "be" where it is the
            predicate (an inversion); otherwise empty.
    """

    text: str
    link: str = ""


@dataclass(frozen=True)
class Frame:
    """A sentence without the marks that stay around it, and the key phrase in it.

    Attributes:
        opening: Marks before the first word, which stay.
        core: What is rewritten.
        closing: Marks behind the last word, which stay.
        phrase: The key phrase as the sentence writes it.
        lead: What stands before the phrase in the prepositional phrase that it ends ("in a very"), or nothing.
    """

    opening: str
    core: str
    closing: str
    phrase: str
    lead: str = ""

    @property
    def stop(self) -> str:
        """What an answer ends with: the marks that end the sentence, or a full stop."""
        return re.match(f"[{STOPS}]*", self.closing)[0] or "."

    def filled(self, answer: str) -> str:
        """The sentence with `answer` in place of its core."""
        return self.opening + answer.removesuffix(self.stop) + self.closing


def frame_of(sentence: str, phrase: str, lead: str = "") -> Frame | None:
    """The frame of a sentence; None where a quote or a bracket opens or closes outside of it."""
    parts = chunks(sentence, 0, len(sentence))
    spoken = [part for part in parts if part.n_words]
    if not spoken:
        return None
    start, end = spoken[0].core_start, spoken[-1].core_end
    opening, core, closing = sentence[:start], sentence[start:end], sentence[end:]
    for outer in ("", opening):
        if is_balanced(outer + core):
            return Frame(opening.removesuffix(outer), outer + core, closing, phrase, lead)
        closers = "".join(mark for mark in closing if mark in _CLOSERS)
        if is_balanced(outer + core + closers):
            rest = "".join(mark for mark in closing if mark not in closers)
            return Frame(opening.removesuffix(outer), outer + core + closers, rest, phrase, lead)
    return None


def grammars(frame: Frame, position: str | None, beginnings: Sequence[Beginning]) -> list[str]:
    """Regular expressions of the answer, the most promising first; each holds for the whole answer.

    Args:
        frame: The sentence and its key phrase.
        position: "front" (with its own lead before it and a comma behind it; or as the subject; or with at most a
            determiner before it, its own or "the"), "end" (nothing but the stop stands behind it), "inward" (words
            stand on both sides of it, and three or more before it), or None (anywhere).
        beginnings: Constituents of the sentence that may begin it where the phrase does not.
    """
    parts = _Parts(frame)
    stop = escaped(frame.stop)
    if position == "front":
        begun = [f"{parts.determined_first} (?:{_VERBS})", f"{parts.determined_first},?"]
        if frame.lead:
            begun.insert(0, f"{parts.own_lead} {parts.phrase},")
        return [f"{start}{parts.more(0)} {parts.word}{stop}" for start in begun]
    if position == "end":
        return [f"{head} {parts.phrase}{stop}" for head in (*map(parts.linked, beginnings), parts.head(1))]
    if position == "inward":
        tail = f" {parts.phrase},?{parts.more(0)} {parts.word}{stop}"
        return [head + tail for head in (parts.head(_BEFORE_INWARD), *parts.heads(beginnings, _BEFORE_INWARD))]
    tail = f"(?:,?{parts.more(0)} {parts.word})?{stop}"
    begun = f"(?:{parts.phrase_first}|{parts.head(1)} {parts.phrase})"
    return [begun + tail, *(f"{head} {parts.phrase}{tail}" for head in parts.heads(beginnings, 1))]


def place_of(term: str, text: str) -> tuple[int, int] | None:
    """Words of `text` before and behind the folded phrase `term`; None unless the phrase stands there once."""
    of_text = words(text)
    at = starts(of_text, term)
    return (at[0], len(of_text) - at[0] - len(term.split())) if len(at) == 1 else None


def is_at(position: str | None, term: str, text: str, own_lead: str = "") -> bool:
    """Whether the phrase `term` stands once in the sentence `text`, and at the position, as in `grammars`.

    At the front, `own_lead`, the lead of the frame, may stand before it.
    """
    place = place_of(term, text)
    if place is None:
        return False
    before, behind = place
    lead = words(text)[:before]
    at_front = (
        before == 0
        or lead == words(own_lead)
        or (before == 1 and lead[0] in PREPOSITIONS + DETERMINERS)
        or (before == 2 and lead[0] in PREPOSITIONS and lead[1] in DETERMINERS)
    )
    return {
        "front": at_front and behind > 0,
        "end": before > 0 and behind == 0,
        "inward": not at_front and behind > 0,
        None: True,
    }[position]


def is_balanced(text: str) -> bool:
    """Whether as many brackets and quotes of each kind open in `text` as close, in whatever order."""
    return text.count('"') % 2 == 0 and all(text.count(first) == text.count(last) for first, last in BRACKETS)


def escaped(text: str) -> str:
    """`text` as a regular expression that matches nothing else."""
    return "".join(f"\\{character}" if character in _META else character for character in text)


class _Parts:
    """Regular expressions of the parts of a sentence."""

    def __init__(self, frame: Frame):
        core = frame.core
        last = words(frame.phrase)[-1]
        once = words(core).count(last) == 1 and re.fullmatch("[a-z]{2,}", last)
        plain, capitalised = (_word(last if once else "", first) for first in ("Aa", "A"))
        bare = dict.fromkeys(chunk.rstrip(",;:") for chunk in core.split())
        odd = [chunk for chunk in bare if chunk and not re.fullmatch(plain, chunk) and words(chunk) != [last]]
        own = [escaped(chunk) for chunk in odd if words(chunk)]
        alone = "|".join(escaped(chunk) for chunk in odd if not words(chunk))
        marks = "".join(mark for mark in ",;:" if mark == "," or mark in core)
        letters = [character for character in core if character.isalpha()]
        capital = bool(letters) and not letters[0].islower()
        self._most = math.ceil(_LONGEST * len(words(core))) + _MORE - len(words(frame.phrase))
        self._behind = f"[{marks}]?" + (f"(?: (?:{alone}))?" if alone else "")
        self.word = f"(?:{'|'.join([plain, *own])})"
        self._first = f"(?:{'|'.join([capitalised if capital else plain, *own])}){self._behind}"
        self._capital = capital
        initial, rest = frame.phrase[0], escaped(frame.phrase[1:])
        cases = sorted({initial.upper(), initial.lower()}) if initial.isascii() and initial.isalpha() else []
        self.phrase = f"[{''.join(cases)}]{rest}" if cases else escaped(frame.phrase)
        self.phrase_first = initial.upper() + rest if cases and capital else self.phrase
        self.own_lead = escaped(self._as_first(frame.lead))
        own = re.findall(rf"(?:^|\s)({'|'.join(DETERMINERS)})\s+{re.escape(frame.phrase)}", core, re.IGNORECASE)
        # a capital that its place does not give it: a name takes no "the" that it did not have
        is_name = frame.phrase[0].isupper() and not core.startswith(frame.phrase)
        determiners = dict.fromkeys([*map(str.lower, own), *([] if is_name else ["the"])])
        begun = [self.phrase_first, *(f"{self._as_first(one)} {self.phrase}" for one in determiners)]
        self.determined_first = f"(?:{'|'.join(begun)})"
        self._determined = f"(?: (?:{'|'.join(determiners)}))?" if determiners else ""

    def more(self, least: int, written: int = 0) -> str:
        """At least so many words, each behind a space, where some are written already."""
        return f"(?: {self.word}{self._behind}){{{least},{max(least, self._most - written)}}}"

    def head(self, least: int) -> str:
        """At least so many words that begin the sentence, at least one."""
        return self._first + self.more(least - 1)

    def heads(self, beginnings: Sequence[Beginning], least: int) -> list[str]:
        """Each of the beginnings, and at least one more word; at least so many words together."""
        written = [(escaped(self._as_first(text)), len(words(text))) for text, _ in beginnings]
        return [f"{text},?{self.more(max(1, least - n_words), n_words)}" for text, n_words in written]

    def linked(self, beginning: Beginning) -> str:
        """A beginning, and what joins it with the phrase at the end."""
        text, n_words = escaped(self._as_first(beginning.text)), len(words(beginning.text))
        if beginning.link == "by":
            return f"{text}(?: {self.word}){{0,3}} (?:{_BE})(?: {self.word}){{1,8}} by{self._determined}"
        if beginning.link == "be":
            return f"{text},?{self.more(0, n_words)} (?:{_BE}){self._determined}"
        return f"{text},?{self.more(1, n_words)}"

    def _as_first(self, text: str) -> str:
        """`text` with the capital of the sentence."""
        return text[:1].upper() + text[1:] if self._capital else text


def _word(excluded: str, first: str) -> str:
    """Words of ASCII letters that do not begin with `excluded`, in whatever case.

    A writer that could go on from there would write half a word more ("filmelic").

    Args:
        excluded: Small letters, two or more; or "", for all words.
        first: "A" for words with a capital, "Aa" for those without one too.
    """
    runs = [f"{_letters(first, excluded[:1])}[a-z]*", f"{_letters('A', excluded[:1])}[A-Z]*"]
    if excluded:
        initials = "".join(excluded[0].upper() if case == "A" else excluded[0] for case in first)
        runs += [f"[{initials}]{_rest(excluded[1:], 'a')}", f"{excluded[0].upper()}{_rest(excluded[1:], 'A')}"]
    return f"(?:{'|'.join(runs)}){_LATER}"


def _rest(excluded: str, case: str) -> str:
    """Letters of one case, or none, that do not begin with `excluded`."""
    other = f"{_letters(case, excluded[0])}{_letters(case)}*"
    if len(excluded) == 1:
        return f"(?:{other})?"
    return f"(?:{other}|{excluded[0].upper() if case == 'A' else excluded[0]}{_rest(excluded[1:], case)})?"


def _letters(cases: str, excluded: str = "") -> str:
    """A letter, small ("a"), capital ("A"), or either, but not `excluded`."""
    if not excluded:
        return "[" + "".join(f"{case}-{'Z' if case == 'A' else 'z'}" for case in cases) + "]"
    others = ascii_lowercase.replace(excluded, "")
    return "[" + "".join(others.upper() if case == "A" else others for case in cases) + "]"
