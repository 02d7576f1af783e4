"""What happens at the peak, in words made from the numbers: the table `peaks`."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from homogenization.names.columns import columns
from homogenization.names.prose import write
from homogenization.names.variants import ORIGINAL
from homogenization.statistics.blocks import MASSIVE, POSITIONAL

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
    extrema: pl.DataFrame, blocks: pl.DataFrame, models: Sequence[str], metrics: Sequence[str], words: str
) -> pl.DataFrame:
    """What the peaks and troughs of the originals are, in words: `PEAKS_SCHEMA`, a row for each model.

    Args:
        extrema: the table `extrema`.
        blocks: the table `extrema_blocks`.
        models: names of the models, in the order of the rows.
        metrics: names of the metrics whose extrema were looked for.
        words: the template of an answer.
    """
    rows = []
    for model in models:
        of_model, there = (table.filter(model=model, variant=ORIGINAL) for table in (extrema, blocks))
        cells = [
            (name, *_of_metric(of_model.filter(metric=metric, view=view), there))
            for (metric, view), name in ANSWERED.items()
            if metric in metrics
        ]
        rows.append((model, write(words, metrics=cells)))
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
    by_position = blocks.filter(quantity=POSITIONAL)
    return {
        "changes": _means(stream.filter(layer=layer)),
        "next_changes": _means(stream.filter(layer=layer + 1)),
        **{name: shares.get(name) for name in ("first_token_attention_share", "first_token_energy_share")},
        "massive": shares.get(MASSIVE),
        "positional": _means(by_position.filter(layer=layer)).get(POSITIONAL),
        "mean_positional": by_position["mean"].mean(),
    }


def _means(rows: pl.DataFrame) -> dict[str, float]:
    return dict(rows.select("quantity", "mean").iter_rows())
