"""Places to which the rule-based rewriter moves the phrases of a sentence: all together, in their order.

A place is a slot: the number of other words, in runs between spaces, before it. `inward` depends on the other sentences
of the review too.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True)
class Layout:
    """A sentence as a row of phrases and of other runs.

    Attributes:
        slots: Of each phrase, in reading order, its slot.
        lengths: Words of each phrase.
        others: Words of each of the other runs.
        breaks: Slots that lie within a constituent.
    """

    slots: list[int]
    lengths: list[int]
    others: list[int]
    breaks: frozenset[int] = frozenset()

    def edge(self, side: str) -> int:
        """The slot at the "front" or at the "end"."""
        return {"front": 0, "end": len(self.others)}[side]

    def inner(self) -> range:
        """The slots with other words on both sides; none in a sentence without a phrase."""
        return range(1, len(self.others)) if self.slots else range(0)

    def positions(self, slots: Sequence[int]) -> list[float]:
        """The position of each phrase in other slots, as in `Placement`; 0 for a whole sentence."""
        total = sum(self.others) + sum(self.lengths)
        before = [sum(self.others[:slot]) + sum(self.lengths[:number]) for number, slot in enumerate(slots)]
        return [at / max(total - length, 1) for at, length in zip(before, self.lengths, strict=True)]

    def displacement(self, slot: int) -> float:
        """How far the phrases move to stand together in a slot, in fractions of the sentence, summed over phrases."""
        pairs = zip(self.positions(self.slots), self.positions([slot] * len(self.slots)), strict=True)
        return sum(abs(after - before) for before, after in pairs)

    def broken(self, slot: int) -> int:
        """How many neighbours of the sentence are none with its phrases in a slot."""
        return len(self._neighbours(self.slots) - self._neighbours([slot] * len(self.slots)))

    def _neighbours(self, slots: Sequence[int]) -> set[tuple]:
        phrases = [(slot, 0, number) for number, slot in enumerate(slots)]
        others = [(number, 1, number) for number in range(len(self.others))]
        return set(pairwise(entry[1:] for entry in sorted(phrases + others)))


# how often the sentences of a review choose their inward places, and what a split constituent and a pair of neighbours
# that is broken up weigh against a displacement by the whole sentence
ROUNDS, SPLIT, JOIN = 3, 0.05, 0.12


def inward(layouts: Sequence[Layout], like: str) -> list[int | None]:
    """The slots of a review's phrases within each sentence, moved as far as to a side, `like`.

    Phrases never stand at the first or the last place of a sentence. Some sentences cannot match: a phrase at the end
    moves less far inward than to the front. So the displacement is balanced over the review: the sentences, those with
    the fewest places first, choose in turn the place that brings the review's sum closest to that of `like`, and again
    in `ROUNDS`. Among places as good, one that splits no constituent and breaks up few neighbours is taken. The slot of
    a sentence with fewer than two other words is None: it stays as it is.
    """
    targets = [layout.displacement(layout.edge(like)) for layout in layouts]
    moves = [{slot: layout.displacement(slot) for slot in layout.inner()} for layout in layouts]
    costs = [{slot: SPLIT * (slot in one.breaks) + JOIN * one.broken(slot) for slot in one.inner()} for one in layouts]
    chosen = [
        min(own, key=lambda slot: abs(own[slot] - target), default=None)
        for own, target in zip(moves, targets, strict=True)
    ]
    for number in sorted(range(len(layouts)), key=lambda number: len(moves[number])) * ROUNDS:
        own, cost = moves[number], costs[number]
        made = sum(of_sentence.get(slot, 0.0) for of_sentence, slot in zip(moves, chosen, strict=True))
        missing = sum(targets) - made + own.get(chosen[number], 0.0)
        chosen[number] = min(own, key=lambda slot: abs(own[slot] - missing) + cost[slot], default=None)
    return chosen
