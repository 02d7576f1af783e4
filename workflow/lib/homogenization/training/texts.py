"""The reviews that a model is trained on, and the held-out ones."""

from collections.abc import Iterable

import polars as pl

from homogenization.corpus.hashing import seeded_hash
from homogenization.corpus.sentences import words
from homogenization.run.errors import HomogenizationError

BATCH_SIZE = 8  # reviews that a step reads
_WORDS_IN_ROW = 13  # that two texts share by being copies alone (Brown et al. 2020)

Reviews = tuple[pl.DataFrame, pl.DataFrame]  # to train on, and held out: columns review_id and text


def reviews_to_train_on(clean: pl.DataFrame, sampled: pl.DataFrame) -> Reviews:
    """The reviews of the corpus `clean` without the whole sample and without copies. A tenth, 200 at most, is held out.

    Raises:
        HomogenizationError: fewer are left than a step reads.
    """
    pool = without_copies(clean.join(sampled, on="review_id", how="anti").sort("review_id"), sampled["text"])
    ranked = pool[sorted(range(len(pool)), key=lambda row: seeded_hash(0, "held out", pool["review_id"][row]))]
    held_out = ranked[: min(-(-len(pool) // 10), 200)]
    training = without_copies(ranked[len(held_out) :], held_out["text"])
    if len(training) < BATCH_SIZE:
        raise HomogenizationError(
            f"training: of {len(clean)} reviews, a sample of {len(sampled)} and its copies leave {len(training)} to "
            f"train on, and a step reads {BATCH_SIZE}. Lower n_reviews, or give a larger corpus."
        )
    return training, held_out


def without_copies(reviews: pl.DataFrame, texts: Iterable[str]) -> pl.DataFrame:
    """The reviews that share no thirteen words in a row with `texts`, or all of their words if these are fewer."""
    taken = set().union(*map(_rows_of_words, texts))
    return reviews.filter([taken.isdisjoint(_rows_of_words(text)) for text in reviews["text"]])


def _rows_of_words(text: str) -> set[tuple[str, ...]]:
    spoken = tuple(words(text))
    return {spoken[start : start + _WORDS_IN_ROW] for start in range(max(1, len(spoken) - _WORDS_IN_ROW + 1))}
