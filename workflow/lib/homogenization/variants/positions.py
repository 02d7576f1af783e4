"""Positions to which the rule-based rewriter moves the key phrases of a sentence.

A position is a function of the number of phrases, the number of other words and a seeded random source. It returns the
new order: phrases by their number, -1 for the next other word. To add one, write the function and put it into
`POSITIONS`.
"""

from collections.abc import Callable
from random import Random

Arrange = Callable[[int, int, Random], list[int]]


def _to_front(n_phrases: int, n_words: int, random: Random) -> list[int]:
    return list(range(n_phrases)) + [-1] * n_words


def _to_end(n_phrases: int, n_words: int, random: Random) -> list[int]:
    return [-1] * n_words + list(range(n_phrases))


def _scattered(n_phrases: int, n_words: int, random: Random) -> list[int]:
    """Insert each phrase in turn at a random place among words and earlier phrases: all orders are equally likely."""
    order = [-1] * n_words
    for phrase in range(n_phrases):
        order.insert(random.randrange(len(order) + 1), phrase)
    return order


POSITIONS: dict[str, Arrange] = {"front": _to_front, "end": _to_end, "scattered": _scattered}
