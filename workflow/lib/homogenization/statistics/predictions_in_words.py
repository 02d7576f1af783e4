"""The columns of the table `predictions`, and sentences made from it."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from homogenization.vocabulary.columns import columns, condition_columns, with_ends
from homogenization.vocabulary.numbers import share_in_words, significant

NUMBERS = ("predicted", "measured", "unexplained")
INTERVALS = tuple(f"{name}{end}" for name in NUMBERS for end in ("", "_low", "_high"))
#: A row for each variant, metric and view of which both slopes and the positions of attention are measured
#: ([how](causes.md#what-the-dial-predicts-of-a-variant)). Intervals are BCa intervals over reviews.
PREDICTIONS_SCHEMA = {
    **columns("model", "variant"),
    **condition_columns("view"),
    **columns("metric"),
    **condition_columns("layer"),
    **columns("n_reviews"),
    **with_ends("predicted"),  #: slopes times doses, mean over reviews
    **with_ends("measured"),  #: variant less original
    **with_ends("unexplained"),  #: measured less predicted
    #: share of the attention that templates of position have in the original, mean over blocks
    "positional": pl.Float64,
    "moved": pl.Float64,  #: doses without their signs, summed over templates, mean over blocks
    "covered": pl.Float64,  #: share of these whose pattern has a slope
}
_ANSWERED = {  # metric and view of the dial -> as a sentence names them
    ("cosine_anisotropy", "all_tokens"): "the cosine anisotropy of all tokens",
    ("cosine_anisotropy", "without_first"): "that without the first token",
    ("normalized_effective_rank", "centred"): "the effective rank of the centred tokens",
}


def predictions_in_words(predictions: pl.DataFrame, model: str) -> str:
    """A sentence on each variant of a model; empty where none is predicted.

    Args:
        predictions: the table `predictions`.
        model: name of the model.
    """
    by_variant = predictions.filter(model=model).group_by("variant", maintain_order=True)
    return " ".join(filter(None, (_of_variant(name, rows) for (name,), rows in by_variant)))


def _of_variant(variant: str, rows: pl.DataFrame) -> str:
    """What the templates of position do in a variant, and a clause for each metric of `_ANSWERED`."""
    by_cell = {(row["metric"], row["view"]): row for row in rows.iter_rows(named=True)}
    clauses = "; ".join(_clause(label, by_cell[cell]) for cell, label in _ANSWERED.items() if cell in by_cell)
    if not clauses:
        return ""
    first = next(row for cell, row in by_cell.items() if cell in _ANSWERED)
    left_out = f", of which {share_in_words(first['covered'])} are predicted from" if first["covered"] < 1 else ""
    return (
        f"Position has {share_in_words(first['positional'])} of the attention, and `{variant}` moves "
        f"{share_in_words(first['moved'])} of it{left_out}. {clauses[0].upper()}{clauses[1:]}."
    )


def _clause(label: str, row: Mapping[str, Any]) -> str:
    """A clause such as `it changes X at layer 30 by −0.01 [...], and the dial predicts −0.001 [...]: 10 % of it`."""
    measured, predicted = (_with_interval(row, name) for name in ("measured", "predicted"))
    head = f"it changes {label} at layer {row['layer']} by {measured}, and the dial predicts {predicted}: "
    if not _decided(row, "measured") and not _decided(row, "predicted"):
        return f"{head}there is no change to explain"
    if not _decided(row, "unexplained"):
        agree = "the two agree within their error"
        return f"{head}{agree}" if _decided(row, "measured") else f"{head}{agree}, as would no change"
    if not _decided(row, "measured"):
        return f"{head}the predicted change is not found"
    share = row["predicted"] / row["measured"]
    if _decided(row, "predicted") and share < 0:
        return f"{head}the opposite"
    return f"{head}{share_in_words(share)} of it"


def _decided(row: Mapping[str, Any], name: str) -> bool:
    """Whether the interval leaves out 0."""
    return row[f"{name}_low"] > 0 or row[f"{name}_high"] < 0


def _with_interval(row: Mapping[str, Any], name: str) -> str:
    low, high = (significant(row[f"{name}_{end}"]) for end in ("low", "high"))
    return f"{significant(row[name])} [{low}, {high}]"
