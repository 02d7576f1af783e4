"""Columns that many tables share, each with its one meaning.

A comment that begins with `#:`, behind a column of a schema or above it, says what the column means and in which unit;
above a schema, what a row is. `Results.describe` prints them. A column of one table stands in that table's schema.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

ENDS = ("", "_low", "_high")  # of the names of an estimate and the ends of its interval
#: Columns of what is read with changed attention
CONDITION_COLUMNS = {
    "condition": pl.String,  #: name of the [condition](causes.md#conditions), such as `steering-first-0.2-all`
    "kind": pl.String,  #: what was done: `untouched`, `steering`, `masked`, `clipped`, `template`, `positions`
    #: of steering or template; the masked key; who gets the sink's mass; the positions; null for `untouched`. In
    #: `tables/`, the draws of `random` are one
    "pattern": pl.String,
    "blocks": pl.String,  #: blocks of steering; `all` for other kinds
    "strength": pl.Float64,  #: λ, bound or signed strength; null for other kinds
    "against": pl.String,  #: `untouched`, or the pattern of a control
    "layers": pl.String,  #: `all`, `first`, `middle`, `last`, `output`: the layers that are averaged
    "layer": pl.Int32,  #: the layer that is measured: 0 before the first block, l after block l
    "view": pl.String,  #: `all_tokens`, `without_first`, `centred`, `after_quarter`
    "kl": pl.Float64,  #: KL(untouched ‖ changed) of the next token, mean over the tokens, in nats; null for an encoder
    "cross_entropy": pl.Float64,  #: of the review's tokens after the first, in nats; null for an encoder
    "sink_moved": pl.Boolean,  #: another token took over the sink ([rule](causes.md#what-is-measured))
    "n_sink_moved": pl.Int64,  #: reviews in which another token took over the sink
    #: whether a norm follows attention inside its branch and undoes a common factor: `removed` is no control there
    "branch_norm": pl.Boolean,
    "reason": pl.String,  #: why it is not tested, with NaN for the numbers; null where it is
}
#: Columns of many tables
COLUMNS = {
    "model": pl.String,  #: name of the model in the configuration
    "variant": pl.String,  #: name of the variant
    "minus": pl.String,  #: variant that is subtracted
    "review_id": pl.String,  #: 12 hexadecimal digits
    "shard": pl.String,  #: `000`, `001`, …
    "point": pl.String,  #: `residual_stream` or `final_norm`
    "layer": pl.Int32,  #: 0 after the embedding, l after block l; `final_norm` has the number of blocks
    "layer_from": pl.Int32,  #: layer of the first of two samples
    "layer_to": pl.Int32,  #: layer of the second: the next layer, or the same one for `null`
    "block": pl.Int32,  #: from 1
    "depth": pl.Float64,  #: layer or block / number of blocks
    "view": pl.String,  #: a view for spectral metrics; `all_tokens` or `without_first` for the others
    "metric": pl.String,  #: name, see [metrics](metrics.md)
    "value": pl.Float64,  #: NaN where the metric is undefined
    "n_tokens": pl.Int32,  #: tokens of the review
    "width": pl.Int32,  #: of the residual stream
    "n_reviews": pl.Int64,  #: reviews with a value
    "mean": pl.Float64,  #: over these reviews
    "estimate": pl.Float64,  #: mean over these reviews
    "ci_low": pl.Float64,  #: lower end of the interval of the mean or estimate
    "ci_high": pl.Float64,  #: its upper end
    "relative_effect": pl.Float64,  #: mean or estimate / `yardstick`
    "p_max_t": pl.Float64,  #: p corrected within its family of rows ([statistics](statistics.md#many-tests))
    "seed": pl.Int64,  #: of the run
}


def columns(*names: str) -> dict[str, Any]:
    """Columns of a schema from those of many tables."""
    return {name: COLUMNS[name] for name in names}


def condition_columns(*names: str) -> dict[str, Any]:
    """Columns of a schema from those of what is read with changed attention."""
    return {name: CONDITION_COLUMNS[name] for name in names}


def with_ends(*names: str) -> dict[str, Any]:
    """Columns of numbers, each with the ends of its interval: `X`, `X_low` and `X_high`."""
    return {f"{name}{end}": pl.Float64 for name in names for end in ENDS}


def ends_of(name: str, interval: Sequence[Any]) -> dict[str, Any]:
    """The values of these columns: estimate, low and high."""
    return {f"{name}{end}": value for end, value in zip(ENDS, interval, strict=True)}


def table_of(columns: Mapping[str, Any], schema: Mapping[str, Any]) -> pl.DataFrame:
    """Rows of `schema` from lists and arrays, one of them at least, and from values that all rows have in common.

    A column of `schema` that `columns` lacks is null; others are left out.
    """
    return pl.DataFrame({name: columns.get(name) for name in schema}, schema=schema, strict=False)
