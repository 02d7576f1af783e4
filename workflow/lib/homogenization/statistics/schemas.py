"""The columns of the tables `mechanism` and `predictions`, which sentences read without what computes them."""

import polars as pl

from homogenization.names.columns import columns, condition_columns, with_ends

#: A row for each pattern, predictor and measured slope: whether they go together over the blocks of a model. Blocks are
#: compared by their means over reviews; intervals are percentiles of the bootstrap over reviews.
MECHANISM_SCHEMA = {
    **columns("model", "variant"),
    **condition_columns("pattern"),
    "predictor": pl.String,  #: `cosine` or `predicted` of `attribution.parquet`
    "measured": pl.String,  #: `after_block` or `at_output`
    "n_reviews": pl.Int64,  #: reviews with a value in each block
    "n_blocks": pl.Int64,  #: blocks that are compared
    "n_positive": pl.Int64,  #: blocks whose predictor is above 0; null where it is not tested
    **with_ends("agreement"),  #: share of blocks in which both have one sign
    **with_ends("rank_correlation"),  #: Spearman’s correlation over blocks
    **condition_columns("branch_norm", "reason"),
}
#: A row for each variant, metric and view of which both slopes and the positions of attention are measured
#: ([how](causes.md#what-steering-predicts-of-a-variant)), if nine in ten of its texts differ from their originals.
#: Intervals are intervals over reviews.
PREDICTIONS_SCHEMA = {
    **columns("model", "variant"),
    **condition_columns("view"),
    **columns("metric"),
    **condition_columns("layer"),
    **columns("n_reviews"),
    **with_ends("predicted"),  #: slopes times doses, mean over reviews
    **with_ends("measured"),  #: variant minus original
    **with_ends("unexplained"),  #: measured minus predicted
    #: share of the attention that templates of position have in the original, mean over blocks
    "positional": pl.Float64,
    "moved": pl.Float64,  #: doses without their signs, summed over templates, mean over blocks
    "covered": pl.Float64,  #: share of these whose pattern has a slope
    **condition_columns("reason"),
}
