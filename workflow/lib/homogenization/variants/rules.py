"""Rule-based variants of a review: its key phrases move within their sentences, and all words stay the same."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from random import Random

import polars as pl

from homogenization.corpus.hashing import seeded_hash
from homogenization.corpus.sentences import sentence_spans, word_spans, words
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
from homogenization.variants.constituents import Sentence, parsed_sentences
from homogenization.variants.matching import others_like, overlap
from homogenization.variants.phrases import Phrase, Placement, phrases_by_review, place_in_sentence
from homogenization.variants.positions import POSITIONS, Layout, inward
from homogenization.variants.schemas import VARIANT_SCHEMA

CONNECTORS = frozenset("&+/=")


def keep_text(text: str, phrases: Sequence[Phrase]) -> tuple[str, list[Placement]]:
    """Leave the review unchanged, and record the places of its phrases."""
    spans = sentence_spans(text)
    placements = []
    for phrase in phrases:
        at = place_in_sentence(text, spans[phrase.sentence], phrase.start, phrase.term)
        placements.append(Placement(phrase.term, phrase.sentence, at, at))
    return text, placements


def move_by_rules(
    sentences: Sequence[Sentence],
    phrases: Sequence[Phrase],
    position: str,
    like: str | None = None,
    which: str = "key",
    seed: int = 0,
    name: str = "",
) -> tuple[str, list[Placement]]:
    """Move the phrases of each sentence; a sentence without phrases, or with all of them in place, stays unchanged.

    Args:
        sentences: The parsed sentences of a cleaned review.
        phrases: Its key phrases in reading order, without overlaps. Each moves with its constituent.
        position: A name in `POSITIONS`, or "inward".
        like: With "inward", the position of which the displacement is matched; otherwise None.
        which: "key" to move the key phrases, "other" to move others that match them.
        seed: Seed of the random places; with `name` and the number of the sentence it determines each place.
        name: The review_id.

    Returns:
        The rewritten review, with its sentences joined by spaces, and the placement of each constituent that was to
        move, in reading order.

    Raises:
        HomogenizationError: the position is unknown.
    """
    if position not in (*POSITIONS, "inward"):
        allowed = ", ".join((*POSITIONS, "inward"))
        raise HomogenizationError(f"rewriting: position '{position}' is unknown. Allowed: {allowed}.")
    moving = moving_phrases(sentences, phrases, which)
    text = sentences[0].text if sentences else ""
    drafts = [
        _draft(
            sentence,
            [phrase for phrase in moving if phrase.sentence == number],
            sentence.splits() if position == "inward" else frozenset(),
        )
        for number, sentence in enumerate(sentences)
    ]
    if position == "inward":
        orders = inward([draft.layout for draft in drafts], POSITIONS[like])
    else:
        randoms = [Random(int.from_bytes(seeded_hash(seed, name, number, size=8))) for number in range(len(drafts))]
        orders = [POSITIONS[position](draft.layout, random) for draft, random in zip(drafts, randoms, strict=True)]
    names = names_in(text)
    rewritten, placements = [], []
    for number, (draft, order) in enumerate(zip(drafts, orders, strict=True)):
        span = sentences[number].span
        sentence, starts = _rearranged(text, span, draft, order, names | sentences[number].proper_names)
        rewritten.append(sentence)
        for phrase, start in zip(draft.phrases, starts, strict=True):
            before = place_in_sentence(text, span, phrase.start, phrase.term)
            after = place_in_sentence(sentence, (0, len(sentence)), start, phrase.term)
            placements.append(Placement(phrase.term, number, before, after))
    return " ".join(rewritten), placements


def moving_phrases(sentences: Sequence[Sentence], phrases: Sequence[Phrase], which: str) -> list[Phrase]:
    """The constituents that move: those of the key phrases, or others that match them; in reading order, apart."""
    keys: list[Phrase] = []
    for phrase in phrases:
        if sentences[phrase.sentence].is_numbered:
            continue
        found = sentences[phrase.sentence].constituent(phrase.start, phrase.end) or phrase
        if not keys or not overlap(keys[-1], found):
            keys.append(found)
        elif len(found.term) > len(keys[-1].term):
            keys[-1] = found
    if which == "key":
        return keys
    pool = [
        other
        for sentence in sentences
        if not sentence.is_numbered
        for other in sentence.constituents()
        if not any(overlap(other, key) for key in keys)
    ]
    return others_like(keys, _places(sentences, keys), pool, _places(sentences, pool))


def _places(sentences: Sequence[Sentence], phrases: Sequence[Phrase]) -> list[float]:
    spans = [(sentences[phrase.sentence].span, phrase) for phrase in phrases]
    text = sentences[0].text if sentences else ""
    return [place_in_sentence(text, span, phrase.start, phrase.term) or 0.0 for span, phrase in spans]


@dataclass(frozen=True)
class _Draft:
    """A sentence before its phrases move: its atoms, the phrases, and how both are laid out."""

    atoms: list[Atom]
    phrases: list[Phrase]
    layout: Layout


def _draft(sentence: Sentence, phrases: list[Phrase], splits: frozenset[int]) -> _Draft:
    atoms, order, lengths, breaks = [], [], [], set()
    for atom in atoms_of(sentence.text, *sentence.span):
        number = _owner(atom, phrases)
        atoms.append(replace(atom, phrase=number if number >= 0 else None))
        if atom.kind != "word":
            continue
        if number == -1 and atom.span[0] in splits:
            breaks.add(order.count(-1))
        length = len(word_spans(atom.text))
        if number >= 0 and number in order:
            lengths[order.index(number)] += length
        else:
            order.append(number)
            lengths.append(length)
    return _Draft(atoms, phrases, Layout(order, lengths, frozenset(breaks)))


def _rearranged(
    text: str, span: tuple[int, int], draft: _Draft, order: list[int], names: frozenset[str]
) -> tuple[str, list[int]]:
    """One sentence with its phrases moved, and the first character of each phrase in it."""
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


def rewrite_reviews(
    reviews: pl.DataFrame,
    keyphrases: pl.DataFrame,
    parse: pl.DataFrame | None,
    variant: str,
    rewriter: str,
    position: str | None = None,
    like: str | None = None,
    phrases: str = "key",
    seed: int = 0,
) -> pl.DataFrame:
    """Write one variant of each review.

    Args:
        reviews: Columns review_id, text, label.
        keyphrases: Columns review_id, phrase, sentence, start, end, in reading order, as `extract_keyphrases` gives.
        parse: Columns of `PARSE_SCHEMA`, as `parse_reviews` gives them; None for the rewriter "none".
        variant: Name of the variant.
        rewriter: "none" to keep the text, "rules" to move phrases.
        position: A name in `POSITIONS`, or "inward"; None for the rewriter "none".
        like: With "inward", the position of which the displacement is matched.
        phrases: "key" or "other".
        seed: Seed of the random places.

    Returns:
        Columns of `VARIANT_SCHEMA`, a row for each review in the order of `reviews`.
    """
    found = phrases_by_review(keyphrases)
    parsed = {} if parse is None else parsed_sentences(reviews, parse)
    rows = []
    for name, text, label in reviews.select("review_id", "text", "label").iter_rows():
        key = found.get(name, [])
        if rewriter == "none":
            rewritten, placements = keep_text(text, key)
        else:
            rewritten, placements = move_by_rules(parsed[name], key, position, like, phrases, seed, name)
        if sorted(words(rewritten)) != sorted(words(text)):
            raise RuntimeError(f"review {name}: the rewriter '{rewriter}' changed the words of: {text}")
        rows.append((variant, name, rewritten, label, [asdict(placement) for placement in placements]))
    return pl.DataFrame(rows, schema=VARIANT_SCHEMA, orient="row")
