"""Sentences and words of an English review, as spans of its text.

Words by this pattern count the same whatever a tokenizer makes of them.
"""

import re
from collections.abc import Sequence
from itertools import pairwise

import sentencex

# Apostrophes and hyphens inside a word belong to it, dots to acronyms and numbers: don't, light-hearted, U.S.A, 3.5
_LETTER, _DIGIT, _EITHER = r"[^\W\d_]", r"\d", r"[^\W_]"
_WORD = re.compile(
    rf"""
      {_LETTER}(?:\.{_LETTER})+(?!{_EITHER})
    | {_DIGIT}+(?:[.,]{_DIGIT}+)+(?!{_EITHER})
    | {_EITHER}+(?:['’‐‑-]{_EITHER}+)*
    """,
    re.VERBOSE,
)
Span = tuple[int, int]
_TITLE = re.compile(r"[(\"'“‘]*(mr|mrs|ms|dr|st|prof|rev|gen|lt|sgt|capt|col|mt|messrs|vs)\.", re.IGNORECASE)
# at the first or the second of its marks: what fails there fails at each of the marks behind
_FULL_STOP = re.compile(r"(?<![\s.][A-Z])(?<![.!?…]{2})[.!?…]++[\"'”’)\]]*+\s+(?=[\"'“‘(\[]*+[A-Z])")
LONGEST_SENTENCE = 60


def sentence_spans(text: str) -> list[Span]:
    """Cut a cleaned text into sentences: (start, end) in characters, without the white space around them.

    Sentencex finds the boundaries; those without white space and those after a title ("Ms. Gurie") are undone. It
    never cuts inside quotes and brackets, so one stray mark ("'70s", "2)") can merge half a review into one sentence: a
    sentence of more than `LONGEST_SENTENCE` words is therefore cut at every full stop.
    """
    spans: list[Span] = []
    for boundary in sentencex.get_sentence_boundaries("en", text):
        start, end = boundary["start_index"], boundary["end_index"]
        is_long = len(word_spans(text, start, end)) > LONGEST_SENTENCE
        stops = [match.end() for match in _FULL_STOP.finditer(text, start, end)] if is_long else []
        for cut, next_cut in pairwise([start, *stops, end]):
            part = text[cut:next_cut]
            first, last = cut + len(part) - len(part.lstrip()), cut + len(part.rstrip())
            is_open = spans and (not text[spans[-1][1]].isspace() or _ends_with_title(text, *spans[-1]))
            if is_open and first < last:
                spans[-1] = (spans[-1][0], last)
            elif first < last:
                spans.append((first, last))
    return spans


def _ends_with_title(text: str, start: int, end: int) -> bool:
    return _TITLE.fullmatch(text, max(text.rfind(" ", start, end) + 1, start), end) is not None


def word_spans(text: str, start: int = 0, end: int | None = None) -> list[Span]:
    """The words of text[start:end] as (start, end) in characters of `text`."""
    return [match.span() for match in _WORD.finditer(text, start, len(text) if end is None else end)]


def words(text: str) -> list[str]:
    """The words of `text` in the form in which they are compared: casefolded, with straight apostrophes."""
    return [folded(text[start:end]) for start, end in word_spans(text)]


def folded(word: str) -> str:
    """The form in which words are compared and counted."""
    return word.casefold().replace("’", "'")


def starts(of_text: Sequence[str], term: str) -> list[int]:
    """Numbers of the words, among the folded words of a text, with which the words of `term` begin."""
    of_term = term.split()
    return [at for at in range(len(of_text)) if list(of_text[at : at + len(of_term)]) == of_term]
