"""The reviews that a model is trained on, the held-out ones, and which of them each step reads."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import polars as pl

from homogenization.corpus.hashing import seeded_hash
from homogenization.corpus.sentences import words
from homogenization.run.errors import HomogenizationError

_WORDS_IN_ROW = 5
_SHARED = 0.5  # of the shorter text's rows of words: above it, two reviews are near-duplicates


def reviews_to_train_on(
    clean: pl.DataFrame, sampled: pl.DataFrame, held_out: int, batch_size: int
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The reviews that the sample and its near-duplicates leave, in two parts: to train on, and held out.

    A near-duplicate of a held-out review is in neither. Which are held out depends on the reviews alone, so it is the
    same for all models and seeds of a study.

    Args:
        clean: columns review_id and text: the corpus.
        sampled: columns review_id and text: the whole sample.
        held_out: number of reviews that are held out.
        batch_size: number of reviews of a step.

    Raises:
        HomogenizationError: fewer reviews are left than are held out and read in one step.
    """
    others = clean.join(sampled.select("review_id"), on="review_id", how="anti").sort("review_id")
    pool = _without_near_duplicates(others, sampled)
    hashes = [seeded_hash(0, "held out", name) for name in pool["review_id"]]
    ranked = pool.with_columns(pl.Series("hash", hashes, pl.Binary)).sort("hash").drop("hash")
    held_out_reviews, rest = ranked[:held_out].sort("review_id"), ranked[held_out:].sort("review_id")
    training = _without_near_duplicates(rest, held_out_reviews)
    if len(training) < batch_size:
        raise HomogenizationError(
            f"training: the sample of {len(sampled)} leaves {len(pool)} reviews of {len(clean)} "
            f"({len(others) - len(pool)} are near-duplicates of sampled ones, and {len(rest) - len(training)} of these "
            f"of held-out ones), and {held_out + batch_size} are needed: {held_out} held out "
            f"(held_out), {batch_size} for a step (batch_size). Lower these or n_reviews, or give a larger corpus."
        )
    return training, held_out_reviews


def _without_near_duplicates(reviews: pl.DataFrame, of: pl.DataFrame) -> pl.DataFrame:
    alike = near_duplicates(reviews["text"].to_list(), of["text"].to_list())
    return reviews.filter(~pl.Series(alike, dtype=pl.Boolean))


def near_duplicates(texts: Sequence[str], of: Sequence[str]) -> list[bool]:
    """Whether each text shares at least half of its rows of five words, or of the other's, with a text of `of`."""
    places: dict[tuple[str, ...], list[int]] = {}
    sizes = []
    for place, text in enumerate(of):
        rows = _rows_of_words(text)
        sizes.append(len(rows))
        for row in rows:
            places.setdefault(row, []).append(place)
    duplicates = []
    for text in texts:
        rows, shared = _rows_of_words(text), {}
        for row in rows:
            for place in places.get(row, ()):
                shared[place] = shared.get(place, 0) + 1
        duplicates.append(any(number >= _SHARED * min(len(rows), sizes[place]) for place, number in shared.items()))
    return duplicates


def _rows_of_words(text: str) -> set[tuple[str, ...]]:
    """Every five words in a row, whatever their case; all words of a shorter text."""
    spoken = tuple(words(text.casefold()))
    return {spoken[start : start + _WORDS_IN_ROW] for start in range(max(1, len(spoken) - _WORDS_IN_ROW + 1))}


@dataclass
class Batches:
    """Which reviews each step reads: a function of seed and step alone.

    An epoch reads every review once, in the order of a hash of seed, epoch and name.

    Attributes:
        names: names of the reviews.
        seed: seed of the order.
        size: number of reviews of a step.
    """

    names: Sequence[str]
    seed: int
    size: int
    _orders: dict[int, list[int]] = field(default_factory=dict)

    def of(self, step: int) -> list[int]:
        """Places, among `names`, of the reviews that a step reads, from 0."""
        places = range(step * self.size, (step + 1) * self.size)
        return [self._order(place // len(self.names))[place % len(self.names)] for place in places]

    def _order(self, epoch: int) -> list[int]:
        if epoch not in self._orders:
            hashes = [seeded_hash(self.seed, epoch, name) for name in self.names]
            # two epochs at a time, where a step reads the end of one and the beginning of the next
            self._orders = {earlier: self._orders[earlier] for earlier in self._orders if earlier == epoch - 1}
            self._orders[epoch] = sorted(range(len(hashes)), key=hashes.__getitem__)
        return self._orders[epoch]
