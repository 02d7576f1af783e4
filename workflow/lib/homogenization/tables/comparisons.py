"""How many reviews a comparison of variants has, and why one with too few is not tested."""

from collections.abc import Sequence

import polars as pl

from homogenization.tables.imbalance import unbalanced
from homogenization.vocabulary.columns import columns
from homogenization.vocabulary.variants import ORIGINAL

#: A row for each contrast of `contrasts.pairs`, in their order.
COMPARISONS_SCHEMA = {
    **columns("variant", "minus"),
    "n_reviews": pl.Int64,  #: reviews of the sample
    "n_accepted": pl.Int64,  #: reviews accepted in both variants; every original counts
    "n_needed": pl.Int64,  #: `contrasts.min_reviews`
    "tested": pl.Boolean,  #: whether there are enough
    "reason": pl.String,  #: why it is not tested; empty where it is
    #: covariates of `balance.csv` in which `minus` is out of balance as a control of the variant, joined by commas,
    #: with the model in brackets; empty where there are none
    "imbalance": pl.String,
}


def comparisons_table(
    similarity: pl.DataFrame,
    pairs: Sequence[tuple[str, str]],
    n_reviews: int,
    min_reviews: int,
    balance: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """The reviews of each comparison: the table `comparisons` (`COMPARISONS_SCHEMA`), in the order of `pairs`.

    Args:
        similarity: tables/similarity.parquet.
        pairs: pairs (variant, minus).
        n_reviews: reviews of the sample.
        min_reviews: fewest reviews, accepted in both variants, with which a comparison is tested.
        balance: tables/balance.csv; None where no variant has a control.

    Returns:
        n_accepted counts the reviews that are accepted in both variants; reason is null where the comparison is tested.
        imbalance names the covariates in which `minus` is out of balance as a control of `variant`, joined by commas;
        null where there are none.
    """
    out_of_balance = {} if balance is None else unbalanced(balance)
    rows = []
    for pair in pairs:
        reason = too_few_accepted(similarity, pair, n_reviews, min_reviews)
        n_accepted = count_accepted(similarity, pair, n_reviews)
        imbalance = ", ".join(out_of_balance.get(tuple(pair), ())) or None
        rows.append((*pair, n_reviews, n_accepted, min_reviews, reason is None, reason, imbalance))
    return pl.DataFrame(rows, schema=COMPARISONS_SCHEMA, orient="row")


def too_few_accepted(similarity: pl.DataFrame, variants: Sequence[str], n_reviews: int, min_reviews: int) -> str | None:
    """Why these variants can't be compared: fewer than `min_reviews` reviews are accepted in all of them; else None.

    Originals are never too few by themselves: the sample is what the study asked for.
    """
    rewritten = [name for name in variants if name != ORIGINAL]
    n_accepted = count_accepted(similarity, rewritten, n_reviews)
    if not rewritten or n_accepted >= min_reviews:
        return None
    where = rewritten[0] if len(rewritten) == 1 else f"both {' and '.join(rewritten)}"
    return f"{n_accepted} of {n_reviews} reviews accepted in {where}; at least {min_reviews} are needed"


def count_accepted(similarity: pl.DataFrame, variants: Sequence[str], n_reviews: int) -> int:
    """Number of reviews that are accepted in each of `variants`; every original counts."""
    rewritten = set(variants) - {ORIGINAL}
    if not rewritten:
        return n_reviews
    rows = similarity.filter("accepted", pl.col("variant").is_in(rewritten))
    n_variants = rows.group_by("review_id").agg(pl.col("variant").n_unique())["variant"]
    return int((n_variants == len(rewritten)).sum())
