"""The columns of runs whose attention was changed: metrics, doses and pooled states."""

import polars as pl

from homogenization.names.columns import columns

REVIEW_COLUMNS = {**columns("model", "variant", "review_id")}
LAYER_COLUMNS = {**REVIEW_COLUMNS, **columns("condition", "layer"), **columns("depth")}

#: A row for each review, layer and cell (metric, view) of a condition ([causes](interventions.md)). The metadata
#: contain `states` (model, weights and shard, as in the stores).
INTERVENED_SCHEMA = {
    **LAYER_COLUMNS,
    **columns("view"),
    **columns("metric"),
    "value": pl.Float64,  #: NaN where the view has too few tokens
    #: the metric of the untouched run over the same tokens: `without_first` leaves out what is massive in either run
    "untouched": pl.Float64,
}
#: A row for each review.
DOSES_SCHEMA = {
    **REVIEW_COLUMNS,
    **columns("condition", "kind", "pattern", "blocks", "strength"),
    **columns("n_tokens"),
    **columns("kl", "cross_entropy"),
    #: total variation of the weights before and after, mean over changed blocks, heads and queries; null for positions
    "moved_mass": pl.Float64,
    "n_massive": pl.Int32,  #: massive tokens of the run
    **columns("sink_moved", "branch_norm"),
}
#: A row for each review and layer.
POOLED_STATES_SCHEMA = {
    **REVIEW_COLUMNS,
    **columns("condition", "layer"),
    #: mean of the tokens without the first and the massive ones, (width,); NaN without such tokens
    "state": pl.List(pl.Float32),
}
SCHEMAS = {"metrics": INTERVENED_SCHEMA, "doses": DOSES_SCHEMA, "states": POOLED_STATES_SCHEMA}
