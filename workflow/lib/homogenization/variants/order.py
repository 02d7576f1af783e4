"""Variants of a review in another order: its words change places in blocks, or one whole sentence moves."""

from collections.abc import Mapping, Sequence
from itertools import chain, count, pairwise

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
    """The review with its words in `blocks` (`permute_blocks`), or with one sentence elsewhere (`move_sentence`).

    Words are what stands between white space, punctuation included; nothing but their order differs from the original.

    Args:
        text: A cleaned review.
        phrases: Its key phrases, the best first.
        blocks: Number of blocks, or "words" for single words; None where a sentence moves.
        move: `sentence` and `to` of `move_sentence`; None where blocks are permuted.
        seed: Seed of the study.
        review: The review_id, so that each review has an order of its own.
    """
    return move_sentence(text, phrases, **move) if move else permute_blocks(text, blocks, seed, review)


def permute_blocks(text: str, blocks: int | str, seed: int, review: str) -> str:
    """Permute the words of a review in `blocks` blocks, whose numbers of words differ by at most one.

    All orders of the blocks but that of the review are equally likely. A review of fewer words than blocks, or of a
    single word, stays as it is.
    """
    words = text.split()
    n_blocks = len(words) if blocks == "words" else blocks
    if not 2 <= n_blocks <= len(words):
        return text
    parts = [words[start:end] for start, end in pairwise(len(words) * n // n_blocks for n in range(n_blocks + 1))]
    orders = (
        sorted(range(n_blocks), key=lambda block: seeded_hash(seed, "order", review, n_blocks, draw, block))
        for draw in count()
    )
    order = next(order for order in orders if order != list(range(n_blocks)))
    return " ".join(chain.from_iterable(parts[block] for block in order))


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
    sentences = [text[start:end] for start, end in sentence_spans(text)]
    lengths = [len(one.split()) for one in sentences]
    ways = [sum(lengths[:number] if to == "first" else lengths[number + 1 :]) for number in range(len(sentences))]
    if not phrases or not ways[key := phrases[0].sentence]:
        return text
    with_phrase = {phrase.sentence for phrase in phrases if phrase.term == phrases[0].term}
    others = [number for number, way in enumerate(ways) if way and number not in with_phrase]
    likest = min(others, key=lambda one: abs(ways[one] - ways[key]) + abs(lengths[one] - lengths[key]), default=None)
    moving = key if sentence == "key" else likest
    if moving is None:
        return text
    moved = sentences.pop(moving)
    return " ".join([moved, *sentences] if to == "first" else [*sentences, moved])
