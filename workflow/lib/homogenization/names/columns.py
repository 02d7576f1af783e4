"""Columns that many tables share, each with its one meaning.

A comment that begins with `#:`, behind a column of a schema or above it, says what the column means and in which unit;
above a schema, what a row is. A column of one table stands in that table's schema.
"""

from typing import Any

import polars as pl

COLUMNS = {
    "model": pl.String,  #: name of the model in the configuration
    "variant": pl.String,  #: name of the variant
    "review_id": pl.String,  #: 12 hexadecimal digits
    "shard": pl.String,  #: `000`, `001`, …
    "point": pl.String,  #: `residual_stream` or `final_norm`
    "layer": pl.Int32,  #: 0 after the embedding, l after block l; `final_norm` has the number of blocks
    "layer_from": pl.Int32,  #: layer of the first of two samples
    "layer_to": pl.Int32,  #: layer of the second: the next layer, or the same one for `null`
    "depth": pl.Float64,  #: layer or block / number of blocks
    #: a view for spectral metrics; `all_tokens` or `without_first` for the others; with changed attention `centred` and
    #: `after_quarter` too
    "view": pl.String,
    "layers": pl.String,  #: `all`, `first`, `middle`, `last`: the layers that are averaged; `output`: the last one
    "metric": pl.String,  #: name, see [metrics](metrics.md)
    "value": pl.Float64,  #: NaN where the metric is undefined
    "n_tokens": pl.Int32,  #: tokens of the review
    "width": pl.Int32,  #: of the residual stream
    "n_reviews": pl.Int64,  #: reviews with a value
    "mean": pl.Float64,  #: over these reviews
    "ci_low": pl.Float64,  #: lower end of the interval of the mean
    "ci_high": pl.Float64,  #: its upper end
    # what is read with changed attention
    "condition": pl.String,  #: name of the [condition](interventions.md#conditions), such as `steering-first-0.2-all`
    "kind": pl.String,  #: what was done: `untouched`, `steering`, `masked`, `positions`
    #: of steering; the masked key; the positions; null for `untouched`. In `tables/`, the draws of `random` are one
    "pattern": pl.String,
    "blocks": pl.String,  #: blocks of steering; `all` for other kinds
    "strength": pl.Float64,  #: λ; null for other kinds
    "kl": pl.Float64,  #: KL(untouched ‖ changed) of the next token, mean over the tokens, in nats; null for an encoder
    "cross_entropy": pl.Float64,  #: of the review's tokens after the first, in nats; null for an encoder
    "sink_moved": pl.Boolean,  #: another token took over the sink ([rule](interventions.md#what-is-measured))
    "n_sink_moved": pl.Int64,  #: reviews in which another token took over the sink
    #: whether a norm follows attention inside its branch and undoes a common factor: `removed` is no control there
    "branch_norm": pl.Boolean,
}


def columns(*names: str) -> dict[str, Any]:
    """Columns of a schema from those of many tables."""
    return {name: COLUMNS[name] for name in names}
