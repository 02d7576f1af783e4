"""The columns of runs whose attention was changed: metrics and doses."""

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

import polars as pl

from homogenization.names.columns import columns, condition_columns

REVIEW_COLUMNS = {**columns("model", "variant", "review_id")}
LAYER_COLUMNS = {**REVIEW_COLUMNS, **condition_columns("condition", "layer"), **columns("depth")}

#: A row for each review, layer and cell (metric, view) of a condition ([causes](causes.md)). The metadata contain
#: `states` (model, weights and shard, as in the stores).
INTERVENED_SCHEMA = {
    **LAYER_COLUMNS,
    **condition_columns("view"),
    **columns("metric"),
    "value": pl.Float64,  #: NaN where the view has too few tokens
    #: the metric of the untouched run over the same tokens: `without_first` leaves out what is massive in either run
    "untouched": pl.Float64,
}
#: A row for each review.
DOSES_SCHEMA = {
    **REVIEW_COLUMNS,
    **condition_columns("condition", "kind", "pattern", "blocks", "strength"),
    **columns("n_tokens"),
    **condition_columns("kl", "cross_entropy"),
    #: total variation of the weights before and after, mean over changed blocks, heads and queries; null for positions
    "moved_mass": pl.Float64,
    "masked_mass": pl.Float64,  #: mass that masked keys lose; null for other kinds
    "n_massive": pl.Int32,  #: massive tokens of the run
    **condition_columns("sink_moved", "branch_norm"),
}
#: A row for each review and layer.
POOLED_STATES_SCHEMA = {
    **REVIEW_COLUMNS,
    **condition_columns("condition", "layer"),
    #: mean of the tokens without the first and the massive ones, (width,); NaN without such tokens
    "state": pl.List(pl.Float32),
}


def crossed(schema: Mapping[str, Any], *axes: Mapping[str, Sequence]) -> pl.DataFrame:
    """A row for each entry of an array, in the array's order; of each axis, the columns with the names of its places.

    Args:
        schema: types of the columns.
        axes: for each axis of the array, columns with a value for each place.
    """
    tables = [pl.DataFrame(dict(axis), schema={name: schema[name] for name in axis}) for axis in axes]
    return reduce(lambda table, axis: table.join(axis, how="cross", maintain_order="left_right"), tables)
