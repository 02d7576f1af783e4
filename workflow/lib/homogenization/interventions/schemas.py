"""The columns of runs whose attention was changed: metrics, doses, and slopes at a dose of 0."""

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

import polars as pl

REVIEW_COLUMNS = dict.fromkeys(("model", "variant", "review_id"), pl.String)
LAYER_COLUMNS = {**REVIEW_COLUMNS, "condition": pl.String, "layer": pl.Int32, "depth": pl.Float64}

INTERVENED_SCHEMA = {
    **LAYER_COLUMNS,
    "view": pl.String,
    "metric": pl.String,
    "value": pl.Float64,
}
# kind: untouched, dial, closed, capped, template or positions; strength: λ, the bound, or the signed s; kl in nats,
# the mean over tokens of KL(untouched || intervened) of the next token, null in encoders; moved_mass: total variation
DOSES_SCHEMA = {
    **REVIEW_COLUMNS,
    "condition": pl.String,
    "kind": pl.String,
    "pattern": pl.String,
    "blocks": pl.String,
    "strength": pl.Float64,
    "n_tokens": pl.Int32,
    "kl": pl.Float64,
    "cross_entropy": pl.Float64,
    "moved_mass": pl.Float64,
    "closed_mass": pl.Float64,
    "n_massive": pl.Int32,
    "sink_moved": pl.Boolean,
}
# block: 1 is the first; slope: the derivative of the metric after block `layer` by the dial's strength in `block`, at 0
SLOPES_SCHEMA = {
    **REVIEW_COLUMNS,
    "block": pl.Int32,
    "pattern": pl.String,
    "layer": pl.Int32,
    "view": pl.String,
    "metric": pl.String,
    "slope": pl.Float64,
}
# what a pattern delivers in a block, to the tokens without the first and massive ones; what the numbers are is told in
# `homogenization.interventions.delivered.delivered_of_review`
DELIVERED_NUMBERS = ("cosine", "length", "predicted", "after_block", "at_output")
DELIVERED_SCHEMA = {
    **REVIEW_COLUMNS,
    "block": pl.Int32,
    "pattern": pl.String,
    **dict.fromkeys(DELIVERED_NUMBERS, pl.Float64),
}


def crossed(schema: Mapping[str, Any], *axes: Mapping[str, Sequence]) -> pl.DataFrame:
    """A row for each entry of an array, in the array's order; of each axis, the columns with the names of its places.

    Args:
        schema: types of the columns.
        axes: for each axis of the array, columns with a value for each place.
    """
    tables = [pl.DataFrame(dict(axis), schema={name: schema[name] for name in axis}) for axis in axes]
    return reduce(lambda table, axis: table.join(axis, how="cross", maintain_order="left_right"), tables)
