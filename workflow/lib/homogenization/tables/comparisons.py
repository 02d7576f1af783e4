"""Which reviews a comparison of variants has, and why one with too few is not tested.

Two texts that are the same differ by exactly 0, which says nothing about a change: they are in no comparison.
"""

from collections.abc import Sequence

import polars as pl

from homogenization.names.changes import MORE_CHANGE
from homogenization.names.variants import ORIGINAL


def same_texts(similarity: pl.DataFrame, variant: str, minus: str) -> pl.DataFrame:
    """review_id of the reviews, accepted in both variants, whose two texts have the same words in the same order."""
    accepted = similarity.filter("accepted")
    if ORIGINAL in (variant, minus):
        return accepted.filter(~pl.col("changed"), pl.col("variant").is_in([variant, minus])).select("review_id")
    sides = [accepted.filter(variant=name).select("review_id", "words_hash") for name in (variant, minus)]
    return sides[0].join(sides[1], on=["review_id", "words_hash"], how="semi").select("review_id")


def too_few(similarity: pl.DataFrame, pair: Sequence[str], n_reviews: int, min_reviews: int) -> str | None:
    """Why two variants can't be compared: too few reviews are accepted in both, or too few of these differ; else None.

    Args:
        similarity: the table `similarity`.
        pair: names of the two variants; every original is accepted.
        n_reviews: reviews of the sample.
        min_reviews: fewest reviews, accepted in both variants with texts that differ, with which it is tested.
    """
    rewritten = set(pair) - {ORIGINAL}
    rows = similarity.filter("accepted", pl.col("variant").is_in(rewritten)).unique(["variant", "review_id"])
    n_accepted = (rows.group_by("review_id").len()["len"] == len(rewritten)).sum()
    if n_accepted < min_reviews:
        both = " in both" * (len(rewritten) == 2)
        return f"{n_accepted} of {n_reviews} reviews accepted{both}; at least {min_reviews} are needed"
    n_same = len(same_texts(similarity, *pair))
    if n_accepted - n_same < min_reviews:
        other = "as the original" if ORIGINAL in pair else "the same in both"
        same = f"{n_same} of {n_accepted} texts are {other}"
        return f"{same}; at least {min_reviews} have to differ. {MORE_CHANGE}"
    return None
