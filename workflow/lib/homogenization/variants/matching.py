"""Other phrases of a review: as many as its key phrases, and like them in length and place."""

from collections.abc import Sequence

import numpy as np

from homogenization.variants.phrases import Phrase, overlap

# what a word of difference in length counts beside a difference in position, which is at most 1
WORD = 0.2


def others_like(
    keys: Sequence[Phrase], places: Sequence[float], pool: Sequence[Phrase], at: Sequence[float]
) -> list[Phrase]:
    """Choose a phrase of `pool` for each key phrase, so that length and position differ least in sum.

    The assignment is optimal (Kuhn 1955). Where two chosen phrases overlap, the one that fits worse is chosen again
    from what is left.

    Args:
        keys: The key phrases of a review.
        places: Position of each in its sentence, from 0 to 1.
        pool: Phrases that overlap no key phrase, but may overlap one another.
        at: Position of each of them.

    Returns:
        Phrases in reading order, without overlaps: as many as `keys`, or fewer where the review has no more.
    """
    from scipy.optimize import linear_sum_assignment

    chosen: list[Phrase] = []
    waiting, free = list(range(len(keys))), list(range(len(pool)))
    cost = np.array(
        [
            [
                abs(place - there) + WORD * abs(len(key.term.split()) - len(other.term.split()))
                for other, there in zip(pool, at, strict=True)
            ]
            for key, place in zip(keys, places, strict=True)
        ]
    ).reshape(len(keys), len(pool))
    while waiting and free:
        matched = zip(*linear_sum_assignment(cost[np.ix_(waiting, free)]), strict=True)
        ranked = sorted(matched, key=lambda pair: (cost[waiting[pair[0]], free[pair[1]]], pair))
        settled = []
        for row, column in ranked:
            if not any(overlap(pool[free[column]], other) for other in chosen):
                chosen.append(pool[free[column]])
                settled.append(row)
        waiting = [key for row, key in enumerate(waiting) if row not in settled]
        free = [number for number in free if not any(overlap(pool[number], other) for other in chosen)]
    return sorted(chosen, key=lambda phrase: phrase.start)
