"""Sentences and words of an English review, as spans of its text.

A review is cut into sentences, a sentence into chunks (runs without white space), and a chunk into punctuation before,
a core of one or more words, and punctuation behind. Phrases are moved chunk by chunk, so no word is ever cut.
"""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
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
_RUN = re.compile(r"\S+")
_CLOSED = re.compile(r"\S*[)\]}]")
_OPENED_BEHIND_A_WORD = re.compile(r"(?<=\w)[(\[{](?=\S)")
# Everything else at a chunk's edge ($, %, #, +) is part of the core and travels with the word
PUNCTUATION = frozenset(",;:.!?…-–—‐‑()[]{}\"“”„‟«»'’‘‚‹›`´*_")
#: Brackets and quotes whose marks differ, each opening before it closes
BRACKETS = ("()", "[]", "{}", "“”", "«»")
_TITLE_WORDS = ("mr", "mrs", "ms", "dr", "st", "prof", "rev", "gen", "lt", "sgt", "capt", "col", "mt", "messrs", "vs")
_ABBREVIATIONS = frozenset((*_TITLE_WORDS, "jr", "sr", "vol"))
_TITLE = re.compile(r"[(\"'“‘]*(?:" + "|".join(_TITLE_WORDS) + r")\.", re.IGNORECASE)
# at the first or the second of its marks: what fails there fails at each of the marks behind
_FULL_STOP = re.compile(r"(?<![\s.][A-Z])(?<![.!?…]{2})[.!?…]++[\"'”’)\]]*+\s+(?=[\"'“‘(\[]*+[A-Z])")
LONGEST_SENTENCE = 60
# characters of a sentence that is parsed, and of a run without white space in it: the parser takes a time that grows
# with the square of a run, and the search for constituents with the square of a sentence
LONGEST_PARSED, LONGEST_RUN = 6000, 500
# scikit-learn's ENGLISH_STOP_WORDS (BSD-3-Clause), which took them from the Glasgow Information Retrieval Group
_STOP_WORDS = """
a about above across after afterwards again against all almost alone along already also although always am among
amongst amoungst amount an and another any anyhow anyone anything anyway anywhere are around as at back be became
because become becomes becoming been before beforehand behind being below beside besides between beyond bill both
bottom but by call can cannot cant co con could couldnt cry de describe detail do done down due during each eg eight
either eleven else elsewhere empty enough etc even ever every everyone everything everywhere except few fifteen
fifty fill find fire first five for former formerly forty found four from front full further get give go had has
hasnt have he hence her here hereafter hereby herein hereupon hers herself him himself his how however hundred i ie
if in inc indeed interest into is it its itself keep last latter latterly least less ltd made many may me meanwhile
might mill mine more moreover most mostly move much must my myself name namely neither never nevertheless next nine
no nobody none noone nor not nothing now nowhere of off often on once one only onto or other others otherwise our
ours ourselves out over own part per perhaps please put rather re same see seem seemed seeming seems serious several
she should show side since sincere six sixty so some somehow someone something sometime sometimes somewhere still
such system take ten than that the their them themselves then thence there thereafter thereby therefore therein
thereupon these they thick thin third this those though three through throughout thru thus to together too top
toward towards twelve twenty two un under until up upon us very via was we well were what whatever when whence
whenever where whereafter whereas whereby wherein whereupon wherever whether which while whither who whoever whole
whom whose why will with within without would yet you your yours yourself yourselves
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
# Stems of contractions (don't, can't, won't, let's …) that the stop list lacks
_AUXILIARIES = frozenset(("i", "do", "does", "did", "ca", "wo", "sha", "would", "could", "should", "need", "ai", "let"))
_CONTRACTED = re.compile(r"(?:n't|'(?:s|m|re|ve|d|ll|t))$")


@dataclass(frozen=True)
class Chunk:
    """A run of a text without white space; offsets are characters of the whole text, ends exclusive.

    Attributes:
        start: Start of the chunk, punctuation included.
        core_start: Start of the core; `end` if the chunk is punctuation alone.
        core_end: End of the core; `end` if the chunk is punctuation alone.
        end: End of the chunk, punctuation included.
        n_words: Number of words in the core: 0 for punctuation alone, 2 or more for words without a space between
            them ("and/or").
    """

    start: int
    core_start: int
    core_end: int
    end: int
    n_words: int

    @property
    def is_open_before(self) -> bool:
        """Whether a phrase may continue from the chunk before: this one begins with a word, without punctuation."""
        return self.n_words > 0 and self.start == self.core_start

    @property
    def is_open_behind(self) -> bool:
        """Whether a phrase may continue into the next chunk: this one ends with a word, without punctuation."""
        return self.n_words > 0 and self.end == self.core_end


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Cut `text` into sentences: (start, end) in characters, without the white space around them.

    Sentencex finds the boundaries; those inside a chunk and those after a title ("Ms. Gurie") are undone. Sentencex
    never cuts inside quotes and brackets, so one stray mark ("'70s", "2)") can merge half a review into one sentence: a
    sentence of more than `LONGEST_SENTENCE` words is therefore cut at every full stop.
    """
    spans: list[tuple[int, int]] = []
    for boundary in sentencex.get_sentence_boundaries("en", text):
        start, end = boundary["start_index"], boundary["end_index"]
        if len(word_spans(text, start, end)) > LONGEST_SENTENCE:
            cuts = [start, *(match.end() for match in _FULL_STOP.finditer(text, start, end)), end]
        else:
            cuts = [start, end]
        for cut, next_cut in pairwise(cuts):
            part = text[cut:next_cut]
            first, last = cut + len(part) - len(part.lstrip()), cut + len(part.rstrip())
            if first >= last:
                continue
            if spans and (not text[spans[-1][1]].isspace() or _ends_with_title(text, *spans[-1])):
                spans[-1] = (spans[-1][0], last)
            else:
                spans.append((first, last))
    return spans


def _ends_with_title(text: str, start: int, end: int) -> bool:
    """Whether the last run of text[start:end] is a title, and not its first unless it begins the text."""
    run = end
    while run > start and not text[run - 1].isspace():
        run -= 1
    return (run > start or run == 0) and _TITLE.fullmatch(text, run, end) is not None


def word_spans(text: str, start: int = 0, end: int | None = None) -> list[tuple[int, int]]:
    """The words of text[start:end] as (start, end) in characters of `text`."""
    return [match.span() for match in _WORD.finditer(text, start, len(text) if end is None else end)]


def words(text: str) -> list[str]:
    """The words of `text` in the form in which they are compared: casefolded, with straight apostrophes."""
    return [folded(text[start:end]) for start, end in word_spans(text)]


def folded(word: str) -> str:
    """The form in which words are compared and counted."""
    return word.casefold().replace("’", "'")


def places(text: str, terms: Collection[str], fits: Callable[[Sequence[Span]], bool] = bool) -> dict[str, list[Span]]:
    """Where terms stand in a text, whatever their case: (start, end) in characters, in reading order, by term.

    Args:
        text: The text.
        terms: Folded words of each, joined by spaces. No word serves two places; longer terms come first.
        fits: Whether the spans of a term's words may be a place of it.
    """
    spans = word_spans(text)
    of_text = [folded(text[start:end]) for start, end in spans]
    free = set(spans)
    found: dict[str, list[Span]] = {}
    for term in sorted(terms, key=lambda term: (-len(term.split()), term)):
        found[term] = []
        for first in starts(of_text, term):
            run = spans[first : first + len(term.split())]
            if free.issuperset(run) and fits(run):
                free.difference_update(run)
                found[term].append((run[0][0], run[-1][1]))
    return found


def starts(of_text: Sequence[str], term: str) -> list[int]:
    """Numbers of the words, among the folded words of a text, with which the words of `term` begin."""
    of_term = term.split()
    return [at for at in range(len(of_text)) if list(of_text[at : at + len(of_term)]) == of_term]


def chunks(text: str, start: int, end: int) -> list[Chunk]:
    """The chunks of the sentence text[start:end]."""
    parts = [_chunk(text, *span) for span in _runs(text, start, end)]
    # The dot of "Dr." or "U.S." belongs to the word, unless it may also be the full stop
    return [
        Chunk(chunk.start, chunk.core_start, chunk.end, chunk.end, chunk.n_words)
        if number + 1 < len(parts) and _is_abbreviation(text, chunk)
        else chunk
        for number, chunk in enumerate(parts)
    ]


def _runs(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Runs without white space; a bracket that opens behind a word and does not close in its run begins another.

    That is "(the" in "Cooper(the father)".
    """
    for run in _RUN.finditer(text, start, end):
        closed = _CLOSED.match(text, *run.span())
        opened = _OPENED_BEHIND_A_WORD.search(text, closed.end() if closed else run.start(), run.end())
        if opened:
            yield run.start(), opened.start()
            yield opened.start(), run.end()
        else:
            yield run.span()


def is_parsed(text: str, start: int, end: int) -> bool:
    """Whether the sentence text[start:end] is parsed; one that is no sentence of a language stays as it is."""
    longest = max((run.end() - run.start() for run in _RUN.finditer(text, start, end)), default=0)
    return end - start <= LONGEST_PARSED and longest <= LONGEST_RUN


def _chunk(text: str, start: int, end: int) -> Chunk:
    """The chunk text[start:end], cut into punctuation, core, punctuation."""
    spans = word_spans(text, start, end)
    if not spans:
        return Chunk(start, end, end, end, 0)
    core_start, core_end = spans[0][0], spans[-1][1]
    while core_start > start and text[core_start - 1] not in PUNCTUATION:
        core_start -= 1
    while core_end < end and text[core_end] not in PUNCTUATION:
        core_end += 1
    return Chunk(start, core_start, core_end, end, len(spans))


def _is_abbreviation(text: str, chunk: Chunk) -> bool:
    """Whether the dot behind the chunk's word is part of the word: a title, an initial, an acronym."""
    if chunk.n_words != 1 or text[chunk.core_end : chunk.end] != ".":
        return False
    core = text[chunk.core_start : chunk.core_end]
    return core.casefold() in _ABBREVIATIONS or "." in core or (len(core) == 1 and core.isupper() and core != "I")


@cache
def is_stop_word(word: str) -> bool:
    """Whether a folded word is a stop word (scikit-learn's English list), a contraction of one, or has no letter."""
    if not any(character.isalpha() for character in word) or len(word) == 1:
        return True
    stem = _CONTRACTED.sub("", word)
    return word in STOP_WORDS or (stem != word and (stem in STOP_WORDS or stem in _AUXILIARIES))
