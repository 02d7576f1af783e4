"""How a sentence is written once its phrases stand in another order: words, marks and capitals."""

from dataclasses import dataclass, replace

from homogenization.corpus.sentences import word_spans
from homogenization.variants.atoms import (
    FINAL,
    HOLE,
    Atom,
    atoms_of,
    mended,
    render,
    strength,
    with_capital,
    with_enclosure,
    without_sentence_capital,
)
from homogenization.variants.constituents import Sentence
from homogenization.variants.phrases import Phrase
from homogenization.variants.positions import Layout

CONNECTORS = frozenset("&+/=")


@dataclass(frozen=True)
class Draft:
    """A sentence before its phrases move: its atoms, the phrases, and how both are laid out."""

    atoms: list[Atom]
    phrases: list[Phrase]
    layout: Layout


def draft_of(sentence: Sentence, phrases: list[Phrase], splits: frozenset[int]) -> Draft:
    """The draft of a sentence.

    Args:
        sentence: A parsed sentence of a review.
        phrases: Those that move in it, in reading order, without overlaps.
        splits: First characters of words before which a phrase would split a constituent, as `Sentence.splits` gives
            them; none where that does not matter.

    Returns:
        Atoms, phrases and layout; without atoms and with an empty layout where there are no phrases.
    """
    if not phrases:
        return Draft([], [], Layout([], []))
    atoms, order, lengths, breaks = [], [], [], set()
    for atom in atoms_of(sentence.text, *sentence.span):
        if atom.kind != "word":
            atoms.append(atom)
            continue
        start, end = atom.span
        number = next((at for at, phrase in enumerate(phrases) if phrase.start < end and start < phrase.end), -1)
        atoms.append(replace(atom, phrase=number if number >= 0 else None))
        if number == -1 and start in splits:
            breaks.add(order.count(-1))
        length = len(word_spans(atom.text))
        if number >= 0 and number in order:
            lengths[order.index(number)] += length
        else:
            order.append(number)
            lengths.append(length)
    return Draft(atoms, phrases, Layout(order, lengths, frozenset(breaks)))


def rearranged(
    text: str, span: tuple[int, int], draft: Draft, order: list[int], names: frozenset[str]
) -> tuple[str, list[int]]:
    """One sentence with its phrases moved, and the first character of each phrase in it.

    Args:
        text: The review.
        span: The first character of the sentence in `text`, and the one behind its last.
        draft: The draft of the sentence.
        order: The order of its units, each a number of a phrase, or -1 for a word of the rest.
        names: Words that keep their capital wherever they stand.
    """
    atoms, phrases = list(draft.atoms), draft.phrases
    if order == draft.layout.order:  # all phrases are in place, so punctuation stays too
        return text[slice(*span)], [phrase.start - span[0] for phrase in phrases]

    first_word = next(index for index, atom in enumerate(atoms) if atom.kind == "word")
    capitalised = not atoms[first_word].text[0].islower()
    atoms[first_word] = without_sentence_capital(atoms, first_word, names)

    moved, rest = _taken_out(atoms, len(phrases))
    result = _put_in(rest, moved, order)
    if capitalised:
        first_word = next(index for index, atom in enumerate(result) if atom.kind == "word")
        result[first_word] = with_capital(result[first_word])
    # the dot of an abbreviation at the end of the sentence is its full stop
    ahead = [None, *result]
    result = [
        atom
        for atom, before in zip(result, ahead, strict=False)
        if not (before and atom.text == "." and before.kind == "word" and before.text.endswith("."))
    ]
    sentence, starts = render(result)
    begins = [
        min(start for atom, start in zip(result, starts, strict=True) if atom.phrase == number)
        for number in range(len(phrases))
    ]
    return sentence, begins


def _taken_out(atoms: list[Atom], n_phrases: int) -> tuple[list[list[Atom]], list[Atom]]:
    """The phrases, each with quotes or brackets that enclose only it, and the rest of the sentence, holes closed."""
    moved: list[list[Atom]] = []
    rest = list(atoms)
    for number in reversed(range(n_phrases)):
        own = [index for index, atom in enumerate(rest) if atom.phrase == number]
        first, last = with_enclosure(rest, own[0], own[-1])
        is_last = all(atom.kind not in ("word", "hole") for atom in rest[last + 1 :])
        # ("Oz,") leaves its comma where it was, and ("Help!") takes its mark along unless that ends the sentence
        left = [
            index
            for index in range(own[-1] + 1, last)
            if rest[index].kind == "mark" and (is_last or strength([rest[index]]) < FINAL)
        ]
        moved.insert(0, [rest[index] for index in range(first, last + 1) if index not in left])
        rest[first : last + 1] = [HOLE] + [rest[index] for index in left]
    return moved, mended(rest)


def _put_in(rest: list[Atom], moved: list[list[Atom]], order: list[int]) -> list[Atom]:
    """The rest of the sentence with the phrases between its words, in the order of `order`."""
    slots: dict[int, list[Atom]] = {}
    slot = 0
    for unit in order:
        if unit == -1:
            slot += 1
        else:
            slots.setdefault(slot, []).extend(moved[unit])
    n_words = sum(atom.kind == "word" for atom in rest)
    result = _closed_before_the_stop(rest) if n_words and n_words in slots else list(rest)
    for slot in sorted(slots, reverse=True):
        gap = _gap(result, slot, n_words)
        result[gap:gap] = slots[slot]
    return result


def _closed_before_the_stop(rest: list[Atom]) -> list[Atom]:
    """End the sentence in `".` instead of `."`, so that a phrase fits between a last quote or bracket and the stop.

    Quotes or brackets around the whole sentence stay in place, since they enclose the phrase too.
    """
    words_at = [index for index, atom in enumerate(rest) if atom.kind == "word"]
    opened = {atom.pair for atom in rest[words_at[0] :] if atom.kind == "open" and atom.pair is not None}
    tail = rest[words_at[-1] + 1 :]
    closing = [atom for atom in tail if atom.kind == "close" and atom.pair in opened]
    if not closing:
        return list(rest)
    marks = [[atom] for atom in tail if atom.kind == "mark"]
    strongest = max(reversed(marks), key=strength, default=[])
    others = [atom for atom in tail if atom not in closing and (atom.kind != "mark" or atom in strongest)]
    return rest[: words_at[-1] + 1] + closing + others


def _gap(rest: list[Atom], slot: int, n_words: int) -> int:
    """The index in `rest` at which to insert a phrase that goes before word number `slot` of `n_words`."""
    words_at = [index for index, atom in enumerate(rest) if atom.kind == "word"]
    if slot == 0:  # inside marks around the whole sentence, before marks around its first words
        tail = words_at[-1] if words_at else len(rest)
        early = {atom.pair for atom in rest[:tail] if atom.kind == "close"} - {None}
        gap = 0
        while gap < len(rest) and rest[gap].kind != "word" and not rest[gap].clings_left:
            if rest[gap].pair in early:
                break
            gap += 1
        return gap
    if slot == n_words:  # behind marks around the last words and behind "&", before the full stop
        opened = {atom.pair for atom in rest[words_at[0] :] if atom.kind == "open"} - {None}
        gap = words_at[-1] + 1
        while gap < len(rest) and (rest[gap].pair in opened or rest[gap].text in CONNECTORS):
            gap += 1
        return gap
    gap = words_at[slot]
    while rest[gap - 1].kind == "open" or rest[gap - 1].clings_right:
        gap -= 1
    return gap
