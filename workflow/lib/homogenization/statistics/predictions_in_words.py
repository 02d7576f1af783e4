"""The columns of the table `predictions`, and the rows that its sentences need."""

from typing import Any

import polars as pl

from homogenization.vocabulary.columns import columns, condition_columns, with_ends

NUMBERS = ("predicted", "measured", "unexplained")
INTERVALS = tuple(f"{name}{end}" for name in NUMBERS for end in ("", "_low", "_high"))
#: A row for each variant, metric and view of which both slopes and the positions of attention are measured
#: ([how](causes.md#what-the-dial-predicts-of-a-variant)), if nine in ten of its texts differ from their originals.
#: Intervals are intervals over reviews.
PREDICTIONS_SCHEMA = {
    **columns("model", "variant"),
    **condition_columns("view"),
    **columns("metric"),
    **condition_columns("layer"),
    **columns("n_reviews"),
    **with_ends("predicted"),  #: slopes times doses, mean over reviews
    **with_ends("measured"),  #: variant minus original
    **with_ends("unexplained"),  #: measured minus predicted
    #: share of the attention that templates of position have in the original, mean over blocks
    "positional": pl.Float64,
    "moved": pl.Float64,  #: doses without their signs, summed over templates, mean over blocks
    "covered": pl.Float64,  #: share of these whose pattern has a slope
    **condition_columns("reason"),
}
_ANSWERED = {  # metric and view of the dial -> as a sentence names them
    ("cosine_anisotropy", "all_tokens"): "the cosine anisotropy of all tokens",
    ("cosine_anisotropy", "without_first"): "the cosine anisotropy without the first token",
    ("normalized_effective_rank", "centred"): "the normalised effective rank of the centred tokens",
}


def of_variants(predictions: pl.DataFrame, model: str) -> list[tuple[str, list[dict[str, Any]]]]:
    """Each variant of a model, with the rows of the metrics of `_ANSWERED`, labelled; none without such a row."""
    variants = []
    for (variant,), rows in predictions.filter(model=model).group_by("variant", maintain_order=True):
        by_cell = {(row["metric"], row["view"]): row for row in rows.iter_rows(named=True)}
        if clauses := [{**by_cell[cell], "label": label} for cell, label in _ANSWERED.items() if cell in by_cell]:
            variants.append((variant, clauses))
    return variants
