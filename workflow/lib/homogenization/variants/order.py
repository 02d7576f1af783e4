"""Variants of a review in another order: its words change places in blocks, or one whole sentence moves."""

from collections.abc import Mapping, Sequence
from itertools import count, pairwise

from homogenization.corpus.hashing import seeded_hash
from homogenization.corpus.sentences import sentence_spans
from homogenization.variants.phrases import Phrase


def reorder(
    text: str,
    phrases: Sequence[Phrase],
    *,
    blocks: int | str | None = None,
    move: Mapping[str, str] | None = None,
    seed: int,
    review: str,
) -> str:
    """The review with its words in blocks, as `permute_blocks` does, or with one sentence elsewhere (`move_sentence`).

    Words are what stands between white space, punctuation included; they are joined by single spaces. A cleaned review
    has no other white space, so nothing but the order differs from the original.

    Args:
        text: A cleaned review.
        phrases: Its key phrases, the best first.
        blocks: Number of blocks, or "words" for single words; None where a sentence moves.
        move: `sentence` and `to` of `move_sentence`; None where blocks are permuted.
        seed: Seed of the study.
        review: The review_id, so that each review has an order of its own.
    """
    if blocks is None:
        return move_sentence(text, phrases, **move)
    return permute_blocks(text, blocks, seed, review)


def permute_blocks(text: str, blocks: int | str, seed: int, review: str) -> str:
    """Permute the words of a review in `blocks` blocks, whose numbers of words differ by at most one.

    All orders of the blocks but that of the review are equally likely. A review of fewer words than blocks, or of a
    single word, stays as it is.
    """
    words = text.split()
    n_blocks = len(words) if blocks == "words" else blocks
    if not 2 <= n_blocks <= len(words):
        return text
    bounds = [len(words) * block // n_blocks for block in range(n_blocks + 1)]
    parts = [words[start:end] for start, end in pairwise(bounds)]
    return " ".join(word for block in _other_order(n_blocks, seed, review) for word in parts[block])


def _other_order(n_blocks: int, seed: int, review: str) -> list[int]:
    """The first order drawn in which not every block stands where it stood."""
    unmoved = list(range(n_blocks))
    for draw in count():
        order = sorted(unmoved, key=lambda block: seeded_hash(seed, "order", review, n_blocks, draw, block))
        if order != unmoved:
            return order


def move_sentence(text: str, phrases: Sequence[Phrase], sentence: str, to: str) -> str:
    """Move one whole sentence of a review to its beginning or its end.

    Args:
        text: A cleaned review.
        phrases: Its key phrases, the best first.
        sentence: "key" for the sentence in which the best key phrase stands first; "other" for one without this
            phrase: the one whose length and way, in words, differ least from those of the key sentence.
        to: "first" or "last".

    Returns:
        The review, which stays as it is where it has no key phrase, where the key sentence stands at that place
        already (then "other" moves nothing either), or where no other sentence can move.
    """
    spans = sentence_spans(text)
    lengths = [len(text[start:end].split()) for start, end in spans]
    ways = [sum(lengths[:number] if to == "first" else lengths[number + 1 :]) for number in range(len(spans))]
    if not phrases or not ways[key := phrases[0].sentence]:
        return text
    moving = key
    if sentence == "other":
        with_phrase = {phrase.sentence for phrase in phrases if phrase.term == phrases[0].term}
        others = [number for number, way in enumerate(ways) if way and number not in with_phrase]
        if not others:
            return text
        moving = min(others, key=lambda one: abs(ways[one] - ways[key]) + abs(lengths[one] - lengths[key]))
    rest = [number for number in range(len(spans)) if number != moving]
    order = [moving, *rest] if to == "first" else [*rest, moving]
    return " ".join(text[slice(*spans[number])] for number in order)
