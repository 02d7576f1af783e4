"""The columns of the table `mechanism`, and a sentence made from it."""

from typing import Any

import polars as pl

from homogenization.vocabulary.columns import columns, condition_columns, with_ends
from homogenization.vocabulary.numbers import share_in_words, significant
from homogenization.vocabulary.variants import ORIGINAL

PREDICTORS = ("cosine", "predicted")
MEASURED = ("after_block", "at_output")
RUN = ("model", "variant", "pattern")
ENDS = ("", "_low", "_high")
#: A row for each pattern, predictor and measured slope: whether they go together over the blocks of a model. Blocks are
#: compared by their means over reviews; intervals are percentiles of the bootstrap over reviews.
MECHANISM_SCHEMA = {
    **columns("model", "variant"),
    **condition_columns("pattern"),
    "predictor": pl.String,  #: `cosine` or `predicted` of `delivered.parquet`
    "measured": pl.String,  #: `after_block` or `at_output`
    "n_reviews": pl.Int64,  #: reviews with a value in each block
    "n_blocks": pl.Int64,  #: blocks of the model
    "n_positive": pl.Int64,  #: blocks whose predictor is above 0
    **with_ends("agreement"),  #: share of blocks in which both have one sign
    **with_ends("rank_correlation"),  #: Spearman’s correlation over blocks
}


def mechanism_in_words(mechanism: pl.DataFrame, model: str) -> str:
    """A sentence on what the first token delivers in a model; empty where no slope of `first` was asked for.

    Args:
        mechanism: the table `mechanism`.
        model: name of the model.
    """
    rows = mechanism.filter(model=model, variant=ORIGINAL, pattern="first")
    if rows.is_empty():
        return ""
    told = {(row["predictor"], row["measured"]): row for row in rows.iter_rows(named=True)}
    first = told["cosine", "after_block"]
    n = first["n_blocks"]
    signs, orders = (
        [_bounds(told[predictor, measured], name) for measured in MEASURED]
        for predictor, name in (("cosine", "agreement"), ("predicted", "rank_correlation"))
    )
    order = f", and the change that it predicts ranks blocks with a correlation of {orders[0]} and {orders[1]}"
    return (
        f"What the first token delivers points along the mean direction of the other tokens in "
        f"{first['n_positive']} of {n} block{'s' * (n > 1)}; this is the sign of its slope of cosine anisotropy less "
        f"that of attention removed in {signs[0]} of them right after the block and in {signs[1]} at the output"
        f"{order * (n > 2)}."
    )


def _bounds(row: dict[str, Any], name: str) -> str:
    """A number with its interval."""
    written = share_in_words if name == "agreement" else significant
    number, low, high = (written(row[f"{name}{end}"]) for end in ENDS)
    return f"{number} [{low}, {high}]"
