"""Positions to which the rule-based rewriter moves the phrases of a sentence.

Each gives the new order: phrases by their number, -1 for the next other word. `inward` depends on the other sentences
of the review too.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count, pairwise
from typing import NamedTuple


@dataclass(frozen=True)
class Layout:
    """A sentence as a row of phrases and of other words.

    Attributes:
        order: Phrases by their number, from 0 in reading order, and -1 for each other word.
        lengths: Words of each entry of `order`, 1 or more.
        breaks: Slots that lie within a constituent: numbers of other words before them.
    """

    order: list[int]
    lengths: list[int]
    breaks: frozenset[int] = frozenset()

    @property
    def n_phrases(self) -> int:
        """Number of phrases."""
        return len(self.order) - self.n_others

    @property
    def n_others(self) -> int:
        """Number of other words."""
        return self.order.count(-1)

    def grouped(self, slot: int) -> list[int]:
        """The order with all phrases together behind `slot` other words."""
        return [-1] * slot + list(range(self.n_phrases)) + [-1] * (self.n_others - slot)

    def at(self, side: str) -> list[int]:
        """The order with all phrases at the "front" or at the "end"."""
        return self.grouped({"front": 0, "end": self.n_others}[side])

    def positions(self, order: Sequence[int]) -> list[float]:
        """The position of each phrase with the sentence in `order`, as in `Placement`; 0 for a whole sentence."""
        others = iter([length for entry, length in zip(self.order, self.lengths, strict=True) if entry == -1])
        own = {entry: length for entry, length in zip(self.order, self.lengths, strict=True) if entry >= 0}
        total, before, places = sum(self.lengths), 0, {}
        for entry in order:
            length = own.get(entry) or next(others)
            if entry >= 0:
                places[entry] = before / (total - length) if total > length else 0.0
            before += length
        return [places[number] for number in range(len(own))]

    def displacement(self, order: Sequence[int]) -> float:
        """How far the phrases move to stand in `order`, in fractions of the sentence, summed over phrases."""
        pairs = zip(self.positions(self.order), self.positions(order), strict=True)
        return sum(abs(after - before) for before, after in pairs)

    def broken(self, order: Sequence[int]) -> int:
        """How many neighbours of the layout are no neighbours in `order`."""
        return len(_neighbours(self.order) - _neighbours(order))


def _neighbours(order: Sequence[int]) -> set[tuple[int, int]]:
    """Pairs of neighbours: phrases by their number, other words by -1, -2, … in their order."""
    others = count(-1, -1)
    return set(pairwise([next(others) if entry == -1 else entry for entry in order]))


# how often the sentences of a review choose their inward places, and what a split constituent and a pair of neighbours
# that is broken up weigh against a displacement by the whole sentence
ROUNDS, SPLIT, JOIN = 3, 0.05, 0.12


class _Choice(NamedTuple):
    """An order of a sentence: how far its phrases move, and what it costs in addition."""

    order: list[int]
    moves: float
    cost: float


def inward(layouts: Sequence[Layout], like: str) -> list[list[int]]:
    """The orders of a review's sentences with the phrases of each grouped within it, moved as far as to a side, `like`.

    Phrases never stand at the first or the last place of a sentence. Some sentences cannot match: a phrase at the end
    moves less far inward than to the front. So the displacement is balanced over the review: the sentences, those with
    the fewest places first, choose in turn the place that brings the review's sum closest to that of `like`, and again
    in `ROUNDS`. Among places as good, one that splits no constituent and breaks up few neighbours is taken. A sentence
    with fewer than two other words stays as it is.
    """
    targets = [layout.displacement(layout.at(like)) for layout in layouts]
    choices = [_inner_choices(layout) for layout in layouts]
    chosen = [_Choice(layout.order, 0.0, 0.0) for layout in layouts]
    for number, target in enumerate(targets):
        chosen[number] = min(choices[number], key=lambda choice: abs(choice.moves - target), default=chosen[number])
    ranked = sorted(range(len(layouts)), key=lambda number: len(choices[number]))
    for number in ranked * ROUNDS:
        missing = sum(targets) - sum(choice.moves for choice in chosen) + chosen[number].moves
        costs = [abs(choice.moves - missing) + choice.cost for choice in choices[number]]
        if costs:
            chosen[number] = choices[number][costs.index(min(costs))]
    return [choice.order for choice in chosen]


def _inner_choices(layout: Layout) -> list[_Choice]:
    """The orders of a sentence in which its phrases stand together, with other words on both sides."""
    slots = range(1, layout.n_others) if layout.n_phrases else range(0)
    orders = [(slot, layout.grouped(slot)) for slot in slots]
    return [
        _Choice(order, layout.displacement(order), SPLIT * (slot in layout.breaks) + JOIN * layout.broken(order))
        for slot, order in orders
    ]
