"""What happens at the peak, in words made from the numbers: the table `peaks`."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from homogenization.statistics.blocks import MASSIVE, POSITIONAL
from homogenization.vocabulary.columns import columns
from homogenization.vocabulary.numbers import share_in_words, significant
from homogenization.vocabulary.variants import ORIGINAL

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
_ADDED = {  # in the order of the stream
    "attention_addition": "the output of attention",
    "norm_1": "the first norm",
    "feed_forward_addition": "that of the feed-forward network",
    "norm_2": "the second norm",
    "addition": "the outputs of attention and feed-forward network",
}


def peaks_table(
    extrema: pl.DataFrame, blocks: pl.DataFrame, models: Sequence[str], metrics: Sequence[str]
) -> pl.DataFrame:
    """What the peaks and troughs of the originals are, in words: `PEAKS_SCHEMA`, a row for each model.

    Args:
        extrema: the table `extrema`.
        blocks: the table `extrema_blocks`.
        models: names of the models, in the order of the rows.
        metrics: names of the metrics whose extrema were looked for.
    """
    asked = {cell: name for cell, name in ANSWERED.items() if cell[0] in metrics}
    rows = []
    for model in models:
        of_model, there = (table.filter(model=model, variant=ORIGINAL) for table in (extrema, blocks))
        sentences = [
            _of_metric(name, of_model.filter(metric=cell[0], view=cell[1]), there) for cell, name in asked.items()
        ]
        rows.append((model, " ".join(sentences) or "Neither MEV nor the mean cosine is compared over depth."))
    return pl.DataFrame(rows, schema=PEAKS_SCHEMA, orient="row")


def _of_metric(name: str, extrema: pl.DataFrame, blocks: pl.DataFrame) -> str:
    """How many settled extrema a metric has, and what happens at the most prominent one of each kind."""
    named = name[0].upper() + name[1:]
    settled = extrema.filter("settled").sort("prominence", descending=True)
    if settled.is_empty():
        return f"{named} has no peak and no trough between its ends that the reviews settle."
    counts = [_counted(settled.filter(kind=kind).height, kind) for kind in ("peak", "trough")]
    told = [settled.filter(kind=kind).row(0, named=True) for kind in settled["kind"].unique(maintain_order=True)]
    return " ".join([f"{named} has {' and '.join(counts)}.", *(_of_extremum(row, blocks) for row in told)])


def _counted(number: int, noun: str) -> str:
    return f"{number or 'no'} {noun}{'s' * (number > 1)}"


def _of_extremum(row: dict[str, Any], blocks: pl.DataFrame) -> str:
    low, high = (significant(row[f"height_{end}"]) for end in ("low", "high"))
    between = (significant(row[f"depth_{end}"], 2) for end in ("low", "high"))
    first = (
        f"Its {'highest' if row['kind'] == 'peak' else 'deepest'} {row['kind']} is after block {row['layer']} (depth "
        f"{significant(row['depth'], 2)} [{', '.join(between)}]), at {significant(row['height'])} [{low}, {high}]"
    )
    remains = row["remains"]
    if np.isfinite(remains):
        left = f"{share_in_words(remains)} of its prominence are left" if remains > 0 else "nothing of it is left"
        first += f"; without the first token, {left}"
    clauses = [
        _added(row, blocks, row["layer"], "in this block"),
        _added(row, blocks, row["layer"] + 1, "in the next"),
        _shares(blocks, row["layer"]),
        _position(blocks, row["layer"]),
    ]
    return ". ".join([first, *(clause[0].upper() + clause[1:] for clause in clauses if clause)]) + "."


def _added(row: dict[str, Any], blocks: pl.DataFrame, layer: int, where: str) -> str:
    """What the components of a block do to the metric in the stream."""
    at = blocks.filter("in_stream", layer=layer, metric=row["metric"], view=row["view"])
    changes = {one["quantity"]: one["mean"] for one in at.iter_rows(named=True)}
    named = [
        f"{label} {'adds' if changes[name] >= 0 else 'takes'} {significant(abs(changes[name]), 2)}"
        for name, label in _ADDED.items()
        if name in changes
    ]
    return f"{where}, {', '.join(named)}" if named else ""


def _shares(blocks: pl.DataFrame, layer: int) -> str:
    found = {
        row["quantity"]: row["mean"]
        for row in blocks.filter(pl.col("metric").is_null(), layer=layer).iter_rows(named=True)
    }
    told = {
        "first_token_attention_share": "receives {} of the attention",
        "first_token_energy_share": "has {} of the energy",
    }
    clauses = [text.format(share_in_words(found[name])) for name, text in told.items() if found.get(name) is not None]
    sentence = f"the first token {' and '.join(clauses)} there" if clauses else ""
    if found.get(MASSIVE):
        sentence += (
            f"{'; ' if sentence else ''}in {share_in_words(found[MASSIVE])} of the reviews another token is massive"
        )
    return sentence


def _position(blocks: pl.DataFrame, layer: int) -> str:
    of_blocks = blocks.filter(quantity=POSITIONAL)
    own = of_blocks.filter(layer=layer)["mean"]
    if not len(own):
        return ""
    return (
        f"position alone accounts for {significant(own[0], 2)} of the attention of this block, and for "
        f"{significant(of_blocks['mean'].mean(), 2)} in the mean block"
    )
