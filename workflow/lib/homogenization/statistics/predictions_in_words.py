"""The columns of the table `predictions`, and the rows that its sentences need."""

from typing import Any

import polars as pl

NUMBERS = ("predicted", "measured", "unexplained")
INTERVALS = tuple(f"{name}{end}" for name in NUMBERS for end in ("", "_low", "_high"))
PREDICTIONS_SCHEMA = {
    **dict.fromkeys(("model", "variant", "view", "metric"), pl.String),
    "layer": pl.Int32,
    "n_reviews": pl.Int64,
    **dict.fromkeys((*INTERVALS, "positional", "moved", "covered"), pl.Float64),
}
_ANSWERED = {  # metric and view of the dial -> as a sentence names them
    ("cosine_anisotropy", "all_tokens"): "the cosine anisotropy of all tokens",
    ("cosine_anisotropy", "without_first"): "that without the first token",
    ("normalized_effective_rank", "centred"): "the effective rank of the centred tokens",
}


def of_variants(predictions: pl.DataFrame, model: str) -> list[tuple[str, list[dict[str, Any]]]]:
    """Each variant of a model, with the rows of the metrics of `_ANSWERED`, labelled; none without such a row."""
    variants = []
    for (variant,), rows in predictions.filter(model=model).group_by("variant", maintain_order=True):
        by_cell = {(row["metric"], row["view"]): row for row in rows.iter_rows(named=True)}
        if clauses := [{**by_cell[cell], "label": label} for cell, label in _ANSWERED.items() if cell in by_cell]:
            variants.append((variant, clauses))
    return variants
