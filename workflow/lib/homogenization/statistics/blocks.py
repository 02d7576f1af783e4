"""The table `extrema_blocks`: what happens in each block and after it, beside which extrema are read."""

import polars as pl

from homogenization.names.columns import columns
from homogenization.names.points import RESIDUAL_STREAM
from homogenization.tables.over_reviews import summarise

#: A row for each model, variant, quantity, metric, view and layer: what happens in each block. It exists with
#: `extrema.parquet`. All blocks are in it, so that an extremum can be compared with the others. Intervals are 95 %
#: intervals; null for positions and secondary sinks.
BLOCKS_SCHEMA = {
    **columns("model", "variant"),
    "layer": pl.Int32,  #: the block that ends there, or the layer after it
    **columns("depth"),
    #: a component of the block (as in `components.parquet`); `first_token_energy_share`, `first_token_attention_share`,
    #: `first_token_norm_ratio`, `cosine_to_first_token`; `positional_mass` of the block's attention; `massive_tokens`,
    #: `attention_sinks`: the share of reviews with another massive token or secondary sink, 0 outside of the median
    #: blocks in which they are
    "quantity": pl.String,
    "view": pl.String,  #: of a component: the view of the metric in the residual stream; else null
    "metric": pl.String,  #: of a component: the metric that it changes; else null
    #: of a component: whether it stands in the residual stream, so that these changes sum to that of the block; else
    #: null
    "in_stream": pl.Boolean,
    **columns("n_reviews"),
    "mean": pl.Float64,  #: mean over reviews; of a component, of the change
    **columns("ci_low", "ci_high"),
}
FIRST_TOKEN = (
    "first_token_energy_share",
    "first_token_attention_share",
    "first_token_norm_ratio",
    "cosine_to_first_token",
)
POSITIONAL, MASSIVE, SINKS = "positional_mass", "massive_tokens", "attention_sinks"
_OF_STREAM = {"singular_anisotropy": "max_explainable_variance"}  # metric of a component -> the same of the stream
_SPECTRAL_VIEWS = {
    "all_tokens": "raw",
    "without_first": "raw_without_first",
    "centred": "centred",
    "centred_without_first": "centred_without_first",
}
_ROUNDING = 1e-9
_KEYS = ("model", "variant", "layer", "depth", "quantity", "view", "metric")


def blocks_table(
    metrics: pl.DataFrame,
    components: pl.DataFrame | None = None,
    positional: pl.DataFrame | None = None,
    sinks: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """A row for each quantity at each layer: `BLOCKS_SCHEMA`, sorted by its keys.

    Quantities: those of `FIRST_TOKEN` that are there, after the layer; the change of a metric by each component of the
    block that ends there, under the component's name, by `view` and `metric` of the stream, with `in_stream` where the
    component stands in the stream, so that these changes sum to that of the block; the mean positional mass of
    its heads; and the share of reviews with a secondary sink, by norm and by attention, between the median blocks in
    which it is one. Means over reviews have 95 % intervals.

    Args:
        metrics: tables/metrics.parquet.
        components: tables/components.parquet, if the study has it.
        positional: tables/positional.parquet, if the study has it.
        sinks: tables/sinks.parquet, if the study has it.
    """
    none = pl.lit(None, pl.String)
    first = metrics.filter(pl.col("metric").is_in(FIRST_TOKEN), point=RESIDUAL_STREAM)
    first = first.with_columns(quantity="metric").with_columns(view=none, metric=none)
    parts = [summarise(first.sort(*_KEYS, "review_id"), _KEYS, "value")]
    if components is not None:
        parts.append(_of_components(components))
    if positional is not None:
        heads = positional.sort("model", "variant", "block", "head").rename({"block": "layer"})
        means = heads.group_by("model", "variant", "layer", "depth", maintain_order=True).agg(
            pl.col("n_reviews").max(), pl.col(POSITIONAL).fill_nan(None).mean().alias("mean")
        )
        parts.append(means.with_columns(quantity=pl.lit(POSITIONAL)))
    if sinks is not None:
        parts.append(_of_sinks(sinks, metrics))
    whole = pl.concat([_whole(part) for part in parts])
    return whole.sort("model", "variant", "quantity", "metric", "view", "layer")


def _whole(table: pl.DataFrame) -> pl.DataFrame:
    """`table` with all columns of `BLOCKS_SCHEMA`, nulls where it has none."""
    lacking = {name: pl.lit(None, dtype) for name, dtype in BLOCKS_SCHEMA.items() if name not in table.columns}
    return table.with_columns(**lacking).select(*BLOCKS_SCHEMA).cast(BLOCKS_SCHEMA)


def _of_components(components: pl.DataFrame) -> pl.DataFrame:
    spectral = pl.col("metric").is_in(list(_OF_STREAM))
    named = components.with_columns(
        pl.when(spectral).then(pl.col("view").replace(_SPECTRAL_VIEWS)).otherwise("view").alias("view"),
        pl.col("metric").replace(_OF_STREAM),
        quantity="component",
    )
    norm_last = pl.col("model").is_in(_norm_last(components)) & pl.col("quantity").str.starts_with("norm")
    in_stream = pl.col("quantity").str.ends_with("addition") | norm_last
    return summarise(named.sort(*_KEYS, "review_id"), _KEYS, "change").with_columns(in_stream=in_stream)


def _norm_last(components: pl.DataFrame) -> list[str]:
    """Models whose first norm reads the sum of stream and attention and so stands in the stream, as in BERT."""
    keys = ["model", "variant", "review_id", "layer", "view", "metric"]
    normed, added = (components.filter(component=name) for name in ("norm_1", "attention_addition"))
    both = normed.join(added, on=keys, suffix="_added")
    reads = ((pl.col("before") - pl.col("after_added")).abs() <= _ROUNDING) | pl.col("before").is_nan()
    return both.group_by("model").agg(reads.all()).filter("before")["model"].sort().to_list()


def _of_sinks(sinks: pl.DataFrame, metrics: pl.DataFrame) -> pl.DataFrame:
    """The share of reviews with any secondary sink, at each layer between the medians of its first and last block."""
    layers = metrics.filter(point=RESIDUAL_STREAM).select("model", "layer", "depth").unique().sort("model", "layer")
    named = {"massive": MASSIVE, "attention": SINKS}
    any_token = sinks.filter(pl.col("token").is_null(), pl.col("kind").is_in(list(named))).with_columns(
        quantity=pl.col("kind").replace_strict(named)
    )
    there = pl.col("layer").is_between(pl.col("first_block"), pl.col("last_block"))
    share = pl.col("n_reviews") / pl.col("n_read")
    return (
        any_token.join(layers, on="model")
        .with_columns(mean=pl.when(there).then(share).otherwise(0.0), n_reviews="n_read")
        .sort("model", "variant", "quantity", "layer")
    )
