"""A sentence as words and punctuation marks, each with its spacing: punctuation stays correct when words move."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from typing import Literal

from homogenization.corpus.sentences import BRACKETS, Chunk, chunks, folded, is_stop_word, sentence_spans

_CLOSERS = {**dict(BRACKETS), "„": "“", "‘": "’"}
# Each of these opens and closes; its side of the word decides which
EVEN = frozenset("\"'’”´`*_")
ENCLOSING = frozenset(_CLOSERS) | frozenset(_CLOSERS.values()) | EVEN
OPENING_QUOTES = frozenset("\"'“‘„«*_")
APOSTROPHES = frozenset("'’‘´`")
STOPS = frozenset(",;:.!?…")
DASHES = frozenset("-–—‐‑")
STRENGTH = {",": 1, "-": 2, "–": 2, "—": 2, "‐": 2, "‑": 2, ":": 3, ";": 3, ".": 4, "…": 4, "?": 5, "!": 5}
FINAL = 4
# words before a capital that begin no name, besides stop words ("Despite Bruce Willis")
_NOT_OF_NAMES = frozenset(("according", "amid", "amidst", "despite", "instead", "unless", "unlike"))

Kind = Literal["word", "open", "close", "mark", "symbol", "hole"]


@dataclass(frozen=True)
class Atom:
    """A word with all that is part of it, a punctuation mark, or the hole that a phrase left.

    Attributes:
        text: The characters.
        kind: "open" and "close" are brackets and quotes; "mark" is a run of , ; : . ! ? … or of dashes; "symbol" is
            any other punctuation, which is never changed.
        clings_left: Whether no space precedes the atom.
        clings_right: Whether no space follows the atom.
        pair: Number shared by an opening and its closing mark; None for an unpaired mark and other kinds.
        span: Span of a word's core in the review; None for other kinds.
        phrase: Number of the phrase that contains a word; None outside of phrases.
    """

    text: str
    kind: Kind
    clings_left: bool = False
    clings_right: bool = False
    pair: int | None = None
    span: tuple[int, int] | None = None
    phrase: int | None = None


HOLE = Atom("", "hole")


def atoms_of(text: str, start: int, end: int) -> list[Atom]:
    """The sentence text[start:end] as atoms, in order; `render` restores the sentence except for unusual spaces."""
    atoms: list[Atom] = []
    for chunk in chunks(text, start, end):
        atoms.extend(_of_chunk(text, chunk, is_first=not atoms))
    return _with_apostrophes(_paired(atoms))


def _of_chunk(text: str, chunk: Chunk, is_first: bool) -> Iterator[Atom]:
    """The atoms of one chunk, brackets and quotes not yet paired."""
    if chunk.n_words:
        for mark in _marks(text[chunk.start : chunk.core_start], "open"):
            yield replace(mark, clings_right=True)
        yield Atom(text[chunk.core_start : chunk.core_end], "word", span=(chunk.core_start, chunk.core_end))
        for mark in _marks(text[chunk.core_end : chunk.end], "close"):
            yield replace(mark, clings_left=True)
        return
    alone = text[chunk.start : chunk.end]
    if STOPS.issuperset(alone):  # "watch it , please": such marks cling to the word before
        yield Atom(alone, "mark", clings_left=not is_first, clings_right=is_first)
    elif DASHES.issuperset(alone):
        yield Atom(alone, "mark")
    elif len(alone) == 1 and alone in ENCLOSING:
        yield from _marks(alone, "open")
    elif alone[0] in ')]}"”' and (STOPS | ENCLOSING).issuperset(alone):  # the tail of a loose bracket: ")."
        for number, mark in enumerate(_marks(alone, "close")):
            yield replace(mark, clings_left=number > 0)
    else:  # a smiley, an ampersand, a row of stars
        yield Atom(alone, "symbol")


def _marks(punctuation: str, side: Literal["open", "close"]) -> Iterator[Atom]:
    """Punctuation before ("open") or behind ("close") a word, as atoms; a run of one kind ("...", "--") is one atom."""
    for (is_stop, is_dash), run in groupby(punctuation, lambda character: (character in STOPS, character in DASHES)):
        if is_stop or is_dash:
            yield Atom("".join(run), "mark")
            continue
        for character in run:
            yield Atom(character, side if character in EVEN else "open" if character in _CLOSERS else "close")


def _paired(atoms: list[Atom]) -> list[Atom]:
    """Number matching brackets and quotes; a mark of `EVEN` that touches no word closes a match or otherwise opens."""
    atoms = list(atoms)
    waiting: list[int] = []
    openers: Counter[str] = Counter()  # the texts of those that wait
    for index, atom in enumerate(atoms):
        if atom.kind not in ("open", "close"):
            continue
        is_loose = atom.text in EVEN and not (atom.clings_left or atom.clings_right)
        if (atom.kind == "close" or is_loose) and any(_belong(opener, atom.text) for opener in +openers):
            opener = None
            while opener is None or not _belong(atoms[opener].text, atom.text):
                opener = waiting.pop()
                openers[atoms[opener].text] -= 1
            atoms[opener] = replace(atoms[opener], pair=index)
            atoms[index] = replace(atom, kind="close", pair=index)
        elif atom.kind == "open":
            waiting.append(index)
            openers[atom.text] += 1
    return atoms


def _belong(opener: str, closer: str) -> bool:
    return _CLOSERS.get(opener) == closer or (opener == closer and opener in EVEN)


def _with_apostrophes(atoms: list[Atom]) -> list[Atom]:
    """Join each unpaired apostrophe to the word that it touches: Williams', '80s."""
    merged: list[Atom] = []
    for atom in atoms:
        before = merged[-1] if merged else None
        if _is_apostrophe(atom) and atom.clings_left and before is not None and before.kind == "word":
            merged[-1] = replace(before, text=before.text + atom.text)
        elif atom.kind == "word" and before is not None and _is_apostrophe(before) and before.clings_right:
            merged[-1] = replace(atom, text=before.text + atom.text)
        else:
            merged.append(atom)
    return merged


def _is_apostrophe(atom: Atom) -> bool:
    return atom.kind in ("open", "close") and atom.pair is None and atom.text in APOSTROPHES


def with_enclosure(atoms: Sequence[Atom], first: int, last: int) -> tuple[int, int]:
    """Widen atoms[first : last + 1], a phrase, by the brackets and quotes that enclose only it."""
    while True:
        behind = last + 1
        while behind < len(atoms) and atoms[behind].kind == "mark":
            behind += 1
        if first == 0 or behind == len(atoms) or atoms[first - 1].kind != "open" or atoms[behind].kind != "close":
            return first, last
        if atoms[first - 1].pair is None or atoms[first - 1].pair != atoms[behind].pair:
            return first, last
        first, last = first - 1, behind


def strength(marks: Sequence[Atom]) -> int:
    """How strongly a run of marks divides: 0 for none, 1 for a comma, FINAL and more for the end of a sentence."""
    return max((STRENGTH[character] for mark in marks for character in mark.text), default=0)


def mended(atoms: Sequence[Atom]) -> list[Atom]:
    """Close the holes: of the marks around a hole, the strongest stays; empty brackets and quotes are removed.

    A sentence, a bracket or a quote never begins with a mark that followed a phrase, and never ends with a comma.
    """
    atoms = list(atoms)
    while HOLE in atoms:
        hole = atoms.index(HOLE)
        first = hole
        while first > 0 and atoms[first - 1].kind == "mark":
            first -= 1
        behind = hole + 1
        while behind < len(atoms) and atoms[behind].kind in ("mark", "hole"):
            behind += 1
        before = atoms[first - 1] if first > 0 else None
        after = atoms[behind] if behind < len(atoms) else None
        if before and after and before.kind == "open" and before.pair is not None and before.pair == after.pair:
            atoms[first - 1 : behind + 1] = [HOLE]
            continue
        runs = [list(run) for is_hole, run in groupby(atoms[first:behind], HOLE.__eq__) if not is_hole]
        leading = atoms[first:hole]
        trailing = runs[-1] if runs and atoms[behind - 1] != HOLE else []
        strongest = max(reversed(runs), key=strength, default=[])
        if before is None:  # at the beginning, what stood before the phrase stays ("...and then")
            marks = leading + ([] if after else trailing)
        elif after is None and before.kind != "open" and trailing:
            marks = strongest
        elif after is None:
            marks = strongest if strength(strongest) >= FINAL else []
        elif before.kind == "open":
            marks = leading
        elif after.kind == "close":
            marks = strongest if strength(strongest) >= FINAL else []
        else:
            marks = strongest
        atoms[first:behind] = marks
    return atoms


def render(atoms: Sequence[Atom]) -> tuple[str, list[int]]:
    """The text of `atoms`, and the first character of each in it."""
    text, starts = "", []
    for index, atom in enumerate(atoms):
        if index and not (atoms[index - 1].clings_right or atom.clings_left):
            text += " "
        starts.append(len(text))
        text += atom.text
    return text, starts


def names_in(text: str) -> frozenset[str]:
    """The words that have a capital within a sentence of the review, outside the beginning of a clause or quote."""
    capitalised = set()
    for span in sentence_spans(text):
        parts = chunks(text, *span)
        for before, part in pairwise(parts):
            if before.is_open_behind and part.is_open_before:
                capitalised.add(text[part.core_start : part.core_end])
    return frozenset(word for word in capitalised if word[0].isupper())


def without_sentence_capital(atoms: Sequence[Atom], index: int, names: frozenset[str]) -> Atom:
    """The atom of a sentence's first word, spelled as within a sentence.

    "I", acronyms and words of mixed case keep their capital. So do words that the review capitalises elsewhere, words
    before another capital (a name) and the first word of a quote, unless they are stop words: titles ("The Cell")
    capitalise these too.
    """
    atom = atoms[index]
    word = atom.text
    lowered = word[0].lower() + word[1:]
    if folded(word).split("'")[0] == "i" or any(letter.isupper() for letter in word[1:]):
        return atom
    if not is_stop_word(folded(word)) and folded(word) not in _NOT_OF_NAMES:
        following = atoms[index + 1 : index + 2]
        begins_a_name = any(atom.kind == "word" and atom.text[0].isupper() for atom in following)
        begins_a_quote = index > 0 and atoms[index - 1].text in OPENING_QUOTES
        if begins_a_name or begins_a_quote or {word, word.removesuffix("'s")} & names:
            return atom
    return replace(atom, text=lowered) if folded(lowered) == folded(word) else atom


def with_capital(atom: Atom) -> Atom:
    """The atom with a capital, to begin a sentence; words of mixed case ("eBay") stay unchanged."""
    raised = atom.text[0].upper() + atom.text[1:]
    if any(letter.isupper() for letter in atom.text) or folded(raised) != folded(atom.text):
        return atom
    return replace(atom, text=raised)
