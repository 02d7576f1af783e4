"""Rule-based variants of a review: its key phrases move within their sentences, and all words stay the same."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from random import Random

import polars as pl

from homogenization.corpus.hashing import seeded_hash
from homogenization.corpus.sentences import sentence_spans, words
from homogenization.run.errors import HomogenizationError
from homogenization.variants.atoms import (
    FINAL,
    HOLE,
    Atom,
    atoms_of,
    mended,
    names_in,
    render,
    strength,
    with_capital,
    with_enclosure,
    without_sentence_capital,
)
from homogenization.variants.phrases import Phrase, Placement, phrases_by_review, place_in_sentence
from homogenization.variants.positions import POSITIONS, Arrange
from homogenization.variants.schemas import VARIANT_SCHEMA

CONNECTORS = frozenset("&+/=")


def keep_text(
    text: str, phrases: Sequence[Phrase], position: str | None, seed: int, name: str
) -> tuple[str, list[Placement]]:
    """Leave the review unchanged, and record the places of its phrases."""
    spans = sentence_spans(text)
    placements = []
    for phrase in phrases:
        at = place_in_sentence(text, spans[phrase.sentence], phrase.start, phrase.term)
        placements.append(Placement(phrase.term, phrase.sentence, at, at))
    return text, placements


def move_by_rules(
    text: str, phrases: Sequence[Phrase], position: str | None, seed: int, name: str
) -> tuple[str, list[Placement]]:
    """Move the phrases of each sentence; a sentence without phrases, or with all of them in place, stays unchanged.

    Args:
        text: A cleaned review.
        phrases: Its key phrases in reading order, without overlaps.
        position: A name in `POSITIONS`.
        seed: Seed of the random places; with `name` and the number of the sentence it determines each place.
        name: The review_id.

    Returns:
        The rewritten review, with its sentences joined by spaces, and the placement of each phrase, in the order of
        `phrases`.
    """
    if position not in POSITIONS:
        raise HomogenizationError(f"rewriting: position '{position}' is unknown. Allowed: {', '.join(POSITIONS)}.")
    names = names_in(text)
    rewritten, placements = [], []
    for number, span in enumerate(sentence_spans(text)):
        moving = [phrase for phrase in phrases if phrase.sentence == number]
        random = Random(int.from_bytes(seeded_hash(seed, name, number, size=8)))
        sentence, starts = _rearranged(text, span, moving, POSITIONS[position], random, names)
        rewritten.append(sentence)
        for phrase, start in zip(moving, starts, strict=True):
            before = place_in_sentence(text, span, phrase.start, phrase.term)
            after = place_in_sentence(sentence, (0, len(sentence)), start, phrase.term)
            placements.append(Placement(phrase.term, number, before, after))
    return " ".join(rewritten), placements


def _rearranged(
    text: str,
    span: tuple[int, int],
    phrases: Sequence[Phrase],
    arrange: Arrange,
    random: Random,
    names: frozenset[str],
) -> tuple[str, list[int]]:
    """One sentence with its phrases moved, and the first character of each phrase in it."""
    atoms = atoms_of(text, *span)
    owner = [_owner(atom, phrases) for atom in atoms]
    units: list[int] = []
    for atom, number in zip(atoms, owner, strict=True):
        if atom.kind == "word" and (number == -1 or number not in units):
            units.append(number)
    order = arrange(len(phrases), units.count(-1), random)
    if order == units:  # all phrases are in place, so punctuation stays too
        return text[slice(*span)], [phrase.start - span[0] for phrase in phrases]

    atoms = [replace(atom, phrase=number if number >= 0 else None) for atom, number in zip(atoms, owner, strict=True)]
    first_word = next(index for index, atom in enumerate(atoms) if atom.kind == "word")
    capitalised = not atoms[first_word].text[0].islower()
    atoms[first_word] = without_sentence_capital(atoms, first_word, names)

    moved, rest = _taken_out(atoms, len(phrases))
    result = _put_in(rest, moved, order)
    if capitalised:
        first_word = next(index for index, atom in enumerate(result) if atom.kind == "word")
        result[first_word] = with_capital(result[first_word])
    result = _without_double_stop(result)
    sentence, starts = render(result)
    begins = [
        min(start for atom, start in zip(result, starts, strict=True) if atom.phrase == number)
        for number in range(len(phrases))
    ]
    return sentence, begins


def _owner(atom: Atom, phrases: Sequence[Phrase]) -> int:
    """The number of the phrase that a word belongs to; -1 for none."""
    if atom.span is not None:
        for number, phrase in enumerate(phrases):
            if phrase.start < atom.span[1] and atom.span[0] < phrase.end:
                return number
    return -1


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


def _without_double_stop(atoms: list[Atom]) -> list[Atom]:
    """Let the dot of an abbreviation at the end of the sentence be its full stop."""
    return [
        atom
        for index, atom in enumerate(atoms)
        if not (index and atom.text == "." and atoms[index - 1].kind == "word" and atoms[index - 1].text.endswith("."))
    ]


# (text, phrases, position, seed, review_id) -> (new text with the same words, placements of the phrases)
REWRITERS: dict[str, Callable[..., tuple[str, list[Placement]]]] = {"none": keep_text, "rules": move_by_rules}


def rewrite_reviews(
    reviews: pl.DataFrame, keyphrases: pl.DataFrame, variant: str, rewriter: str, position: str | None, seed: int
) -> pl.DataFrame:
    """Write one variant of each review.

    Args:
        reviews: Columns review_id, text, label.
        keyphrases: Columns review_id, phrase, sentence, start, end, in reading order, as `extract_keyphrases` gives.
        variant: Name of the variant.
        rewriter: A name in `REWRITERS`.
        position: A name in `POSITIONS`; None for the rewriter "none".
        seed: Seed of the random places.

    Returns:
        Columns of `VARIANT_SCHEMA`, a row for each review in the order of `reviews`.

    Raises:
        HomogenizationError: the rewriter or the position is unknown.
    """
    if rewriter not in REWRITERS:
        raise HomogenizationError(f"rewriting: rewriter '{rewriter}' is unknown. Allowed: {', '.join(REWRITERS)}.")
    phrases = phrases_by_review(keyphrases)
    rows = []
    for name, text, label in reviews.select("review_id", "text", "label").iter_rows():
        rewritten, placements = REWRITERS[rewriter](text, phrases.get(name, []), position, seed, name)
        if sorted(words(rewritten)) != sorted(words(text)):
            raise RuntimeError(f"review {name}: the rewriter '{rewriter}' changed the words of: {text}")
        rows.append((variant, name, rewritten, label, [asdict(placement) for placement in placements]))
    return pl.DataFrame(rows, schema=VARIANT_SCHEMA, orient="row")
