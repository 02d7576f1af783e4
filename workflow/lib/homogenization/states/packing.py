"""Packing whole reviews end to end, in order, into forward passes of a bounded number of tokens."""

from collections.abc import Sequence


def pack_reviews(lengths: Sequence[int], token_budget: int) -> list[range]:
    """Group the reviews, in order, into packs of at most `token_budget` tokens.

    No review is split, moved or padded; one that is longer than the budget makes a pack by itself.

    Args:
        lengths: tokens of each review, each at least 1.
        token_budget: tokens a pack may hold, at least 1.

    Returns:
        For each pack the indices of its reviews; end to end they count all reviews.
    """
    packs: list[range] = []
    first, n_tokens = 0, 0
    for index, length in enumerate(lengths):
        if index > first and n_tokens + length > token_budget:
            packs.append(range(first, index))
            first, n_tokens = index, 0
        n_tokens += length
    if lengths:
        packs.append(range(first, len(lengths)))
    return packs
