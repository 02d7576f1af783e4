"""Which reviews a comparison of variants has, and why one with too few is not tested.

Two texts that are the same differ by exactly 0, which says nothing about a change: they are in no comparison.
"""

from collections.abc import Sequence

import polars as pl

from homogenization.names.changes import LEAST_SHARE, MORE_CHANGE
from homogenization.names.columns import columns
from homogenization.names.numbers import share_in_words
from homogenization.names.variants import ORIGINAL

#: A row for each variant, control, covariate and, where the covariate depends on it, model: over the reviews that are
#: accepted in both with texts that differ, and have the covariate in both. It exists if a variant has a control, or if
#: two rewritten variants are contrasted. The [method](method.md#balance) defines the covariates.
BALANCE_SCHEMA = {
    **columns("variant"),
    "control": pl.String,  #: name of the variant that is its control
    #: `edge`, `key`, `side` or `rewriting`; empty for two variants that `contrasts.pairs` compares and neither of which
    #: controls the other
    "role": pl.String,
    "model": pl.String,  #: for `tokens`; otherwise empty
    "covariate": pl.String,  #: `displacement`, `first_word_changed`, `tokens`, `f1` or `loss_per_word`
    "mean": pl.Float64,  #: over the variant's texts; NaN if no review is accepted in both, also in the next two columns
    "mean_control": pl.Float64,  #: over the control's texts
    #: standardised mean difference; `inf` or `-inf` where the means differ and no review departs from them, NaN for
    #: fewer than two reviews
    "smd": pl.Float64,
    **columns("n_reviews"),
    "balanced": pl.Boolean,  #: its absolute value is at most `contrasts.max_imbalance`; empty where it is NaN
}
#: A row for each contrast of `contrasts.pairs`, in their order.
COMPARISONS_SCHEMA = {
    **columns("variant", "minus"),
    "n_reviews": pl.Int64,  #: reviews of the sample
    "n_accepted": pl.Int64,  #: reviews accepted in both variants; every original counts
    #: of these, reviews whose two texts differ in their words or in the order of these: a comparison is over them
    "n_changed": pl.Int64,
    "share_changed": pl.Float64,  #: the same / `n_accepted`; empty without any
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
        min_reviews: fewest reviews, accepted in both variants with texts that differ, with which it is tested.
        balance: tables/balance.csv; None where no variant has a control.
    """
    out_of_balance = {} if balance is None else unbalanced(balance)
    rows = []
    for pair in pairs:
        reason = too_few_accepted(similarity, pair, n_reviews, min_reviews)
        n_accepted = count_accepted(similarity, pair, n_reviews)
        n_changed = n_accepted - len(same_texts(similarity, *pair))
        reason = reason or too_few_changed(pair, n_changed, n_accepted, min_reviews)
        imbalance = ", ".join(out_of_balance.get(tuple(pair), ())) or None
        share = n_changed / n_accepted if n_accepted else None
        rows.append((*pair, n_reviews, n_accepted, n_changed, share, min_reviews, reason is None, reason, imbalance))
    return pl.DataFrame(rows, schema=COMPARISONS_SCHEMA, orient="row")


def same_texts(similarity: pl.DataFrame, variant: str, minus: str) -> pl.DataFrame:
    """review_id of the reviews, accepted in both variants, whose two texts have the same words in the same order."""
    accepted = similarity.filter("accepted")
    if ORIGINAL in (variant, minus):
        return accepted.filter(~pl.col("changed"), pl.col("variant").is_in([variant, minus])).select("review_id")
    sides = [accepted.filter(variant=name).select("review_id", "words_hash") for name in (variant, minus)]
    return sides[0].join(sides[1], on=["review_id", "words_hash"], how="semi").select("review_id")


def too_few_changed(pair: Sequence[str], n_changed: int, n_accepted: int, min_reviews: int) -> str | None:
    """Why two variants can't be compared of which enough reviews are accepted: too few texts differ; else None."""
    if n_changed >= min_reviews or n_changed == n_accepted:
        return None
    same = f"{n_accepted - n_changed} of {n_accepted} texts are {_as_the_other(pair)}"
    return f"{same}; at least {min_reviews} have to differ. {MORE_CHANGE}"


def too_few_of_all(similarity: pl.DataFrame, variant: str, minus: str) -> str | None:
    """Why a number of all texts of a variant together is not compared: too small a share differs; else None.

    Such a number has no part of single reviews, so none can be left out. Rejected reviews count in it too.
    """
    every = similarity.with_columns(accepted=pl.lit(True))
    n_texts = min(len(every.filter(variant=name)) for name in {variant, minus} - {ORIGINAL})
    n_same = len(same_texts(every, variant, minus))
    if n_texts - n_same >= LEAST_SHARE * n_texts:
        return None
    same = f"{n_same} of {n_texts} texts are {_as_the_other((variant, minus))}"
    return f"{same}; of all texts together, at least {share_in_words(LEAST_SHARE)} have to differ. {MORE_CHANGE}"


def _as_the_other(pair: Sequence[str]) -> str:
    """Names of variants stand beside a reason, by their labels on pages."""
    return "as the original" if ORIGINAL in pair else "the same in both"


def too_few_accepted(similarity: pl.DataFrame, variants: Sequence[str], n_reviews: int, min_reviews: int) -> str | None:
    """Why these variants can't be compared: fewer than `min_reviews` reviews are accepted in all of them; else None.

    Originals are never too few by themselves: the sample is what the study asked for.
    """
    rewritten = [name for name in variants if name != ORIGINAL]
    n_accepted = count_accepted(similarity, rewritten, n_reviews)
    if not rewritten or n_accepted >= min_reviews:
        return None
    where = "" if len(rewritten) == 1 else " in both"
    return f"{n_accepted} of {n_reviews} reviews accepted{where}; at least {min_reviews} are needed"


def count_accepted(similarity: pl.DataFrame, variants: Sequence[str], n_reviews: int) -> int:
    """Number of reviews that are accepted in each of `variants`; every original counts."""
    rewritten = set(variants) - {ORIGINAL}
    if not rewritten:
        return n_reviews
    rows = similarity.filter("accepted", pl.col("variant").is_in(rewritten))
    n_variants = rows.group_by("review_id").agg(pl.col("variant").n_unique())["variant"]
    return int((n_variants == len(rewritten)).sum())


def unbalanced(balance: pl.DataFrame) -> dict[tuple[str, str], list[str]]:
    """The unbalanced covariates of each (variant, control), in the order of the table; pairs without any are left out.

    A covariate that belongs to a model is followed by the model's name in brackets.
    """
    unbalanced: dict[tuple[str, str], list[str]] = {}
    rows = balance.filter(~pl.col("balanced"))
    for variant, control, covariate, model in rows.select("variant", "control", "covariate", "model").iter_rows():
        unbalanced.setdefault((variant, control), []).append(f"{covariate} ({model})" if model else covariate)
    return unbalanced
