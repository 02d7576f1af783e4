"""The columns of the table `mechanism`, and the rows that its sentence needs."""

from typing import Any

import polars as pl

from homogenization.vocabulary.columns import columns, condition_columns, with_ends
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
    "n_blocks": pl.Int64,  #: blocks that are compared
    "n_positive": pl.Int64,  #: blocks whose predictor is above 0; null where it is not tested
    **with_ends("agreement"),  #: share of blocks in which both have one sign
    **with_ends("rank_correlation"),  #: Spearman’s correlation over blocks
    **condition_columns("branch_norm", "reason"),
}


def of_first_token(mechanism: pl.DataFrame, model: str) -> dict[str, dict[str, dict[str, Any]]]:
    """The rows on what the first token delivers in a model, by predictor and by where slopes are measured.

    They are those of the originals; there are none where no slope of `first` was asked for.
    """
    rows: dict[str, dict[str, dict[str, Any]]] = {}
    for row in mechanism.filter(model=model, variant=ORIGINAL, pattern="first").iter_rows(named=True):
        rows.setdefault(row["predictor"], {})[row["measured"]] = row
    return rows
