"""The tables `extrema_blocks`, what happens in each block and after it, and `peaks`, what happens at the extrema."""

from collections.abc import Container, Mapping, Sequence
from typing import Any

import polars as pl

from homogenization.names.columns import columns, table_of
from homogenization.names.points import RESIDUAL_STREAM
from homogenization.names.prose import write
from homogenization.names.variants import ORIGINAL
from homogenization.tables.components import SPECTRAL_VIEWS, STREAM_METRICS
from homogenization.tables.over_reviews import summarise

#: A row for each model, variant, quantity, metric, view and layer: what happens in each block. It exists with
#: `extrema.parquet`. All blocks are in it, so that an extremum can be compared with the others. Intervals are 95 %
#: intervals.
BLOCKS_SCHEMA = {
    **columns("model", "variant"),
    "layer": pl.Int32,  #: the block that ends there, or the layer after it
    **columns("depth"),
    #: a component of the block (as in `components.parquet`); `first_token_energy_share`, `first_token_attention_share`,
    #: `first_token_norm_ratio`, `cosine_to_first_token`
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
_ROUNDING = 1e-9
_KEYS = ("model", "variant", "layer", "depth", "quantity", "view", "metric")


def blocks_table(metrics: pl.DataFrame, components: pl.DataFrame | None = None) -> pl.DataFrame:
    """A row for each quantity at each layer: `BLOCKS_SCHEMA`, sorted by its keys.

    Quantities: those of `FIRST_TOKEN` that are there, after the layer; the change of a metric by each component of the
    block that ends there, under the component's name, by `view` and `metric` of the stream, with `in_stream` where the
    component stands in the stream, so that these changes sum to that of the block. Means
    over reviews have 95 % intervals.

    Args:
        metrics: tables/metrics.parquet.
        components: tables/components.parquet, if the study has it.
    """
    none = pl.lit(None, pl.String)
    first = metrics.filter(pl.col("metric").is_in(FIRST_TOKEN), point=RESIDUAL_STREAM)
    first = first.with_columns(quantity="metric").with_columns(view=none, metric=none)
    parts = [summarise(first.sort(*_KEYS, "review_id"), _KEYS, "value")]
    if components is not None:
        parts.append(_of_components(components))
    whole = pl.concat([table_of(part.to_dict(), BLOCKS_SCHEMA) for part in parts])
    return whole.sort("model", "variant", "quantity", "metric", "view", "layer")


def _of_components(components: pl.DataFrame) -> pl.DataFrame:
    spectral = pl.col("metric").is_in(list(STREAM_METRICS))
    named = components.with_columns(
        pl.when(spectral).then(pl.col("view").replace(SPECTRAL_VIEWS)).otherwise("view").alias("view"),
        pl.col("metric").replace(STREAM_METRICS),
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


#: A row for each model: the answer under *Peaks and troughs* on the first page of the report, from the originals.
PEAKS_SCHEMA = {
    **columns("model"),
    #: how many settled extrema MEV and the mean cosine have, and what happens at the most prominent ones, in words
    "answer": pl.String,
}
ANSWERED = {  # metric and view -> as a sentence names it
    ("max_explainable_variance", "raw"): "MEV",
    ("cosine_anisotropy", "all_tokens"): "the mean cosine",
}


def peaks_table(
    extrema: pl.DataFrame, blocks: pl.DataFrame, models: Sequence[str], cells: Container[tuple[str, str]], words: str
) -> pl.DataFrame:
    """What the peaks and troughs of the originals are, in words: `PEAKS_SCHEMA`, a row for each model.

    Args:
        extrema: the table `extrema`.
        blocks: the table `extrema_blocks`.
        models: names of the models, in the order of the rows.
        cells: metrics and views whose extrema were looked for.
        words: the template of an answer.
    """
    rows = []
    for model in models:
        of_model, there = (table.filter(model=model, variant=ORIGINAL) for table in (extrema, blocks))
        answered = [
            (name, *_of_metric(of_model.filter(metric=cell[0], view=cell[1]), there))
            for cell, name in ANSWERED.items()
            if cell in cells
        ]
        rows.append((model, write(words, metrics=answered)))
    return pl.DataFrame(rows, schema=PEAKS_SCHEMA, orient="row")


def _of_metric(extrema: pl.DataFrame, blocks: pl.DataFrame) -> tuple[int, int, list[dict[str, Any]]]:
    """How many settled peaks and troughs a metric has, and the most prominent one of each kind, with its blocks.

    `beyond` of that one is the highest peak, or the deepest trough, settled or not, where this is another; else None.
    """
    settled = extrema.filter("settled").sort("prominence", descending=True)
    counts = [settled.filter(kind=kind).height for kind in ("peak", "trough")]
    most_prominent = settled.unique("kind", keep="first", maintain_order=True)
    described = [
        row | {"beyond": _beyond(row, extrema)} | _around(row, blocks) for row in most_prominent.iter_rows(named=True)
    ]
    return *counts, described


def _beyond(extremum: Mapping[str, Any], extrema: pl.DataFrame) -> dict[str, Any] | None:
    rises = extremum["kind"] == "peak"
    first = extrema.filter(kind=extremum["kind"]).sort("height", descending=rises).row(0, named=True)
    return first if first["layer"] != extremum["layer"] else None


def _around(extremum: Mapping[str, Any], blocks: pl.DataFrame) -> dict[str, Any]:
    """What components of this block and the next do to the metric in the stream, and shares; None for lacking ones."""
    layer, metric, view = (extremum[name] for name in ("layer", "metric", "view"))
    stream = blocks.filter("in_stream", metric=metric, view=view)
    shares = _means(blocks.filter(pl.col("metric").is_null(), layer=layer))
    return {
        "changes": _means(stream.filter(layer=layer)),
        "next_changes": _means(stream.filter(layer=layer + 1)),
        **{name: shares.get(name) for name in ("first_token_attention_share", "first_token_energy_share")},
    }


def _means(rows: pl.DataFrame) -> dict[str, float]:
    return dict(rows.select("quantity", "mean").iter_rows())
