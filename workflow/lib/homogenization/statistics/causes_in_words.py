"""What changed attention explains, in words made from the numbers: the table `causes.csv`."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from homogenization.names.columns import columns
from homogenization.names.prose import write
from homogenization.names.variants import ORIGINAL
from homogenization.statistics.mechanism import MECHANISM_SCHEMA
from homogenization.statistics.predictions import PREDICTIONS_SCHEMA

#: A row for each model with slopes: the answer under *Causes* on the first page of the report.
CAUSES_SCHEMA = {
    **columns("model"),
    #: whether each variant’s effect is what steering predicts, and whether what the first token delivers tells its
    #: slope, in words
    "answer": pl.String,
}
SCHEMAS = (CAUSES_SCHEMA,)
INPUT_SCHEMAS = {"mechanism": MECHANISM_SCHEMA, "predictions": PREDICTIONS_SCHEMA}
_ANSWERED = {  # metric and view of steering -> as a sentence names them
    ("cosine_anisotropy", "all_tokens"): "the cosine anisotropy of all tokens",
    ("cosine_anisotropy", "without_first"): "the cosine anisotropy without the first token",
    ("normalized_effective_rank", "centred"): "the normalised effective rank of the centred tokens",
}


def tabulate(mechanism: pl.DataFrame, predictions: pl.DataFrame, models: Sequence[str], words: str) -> pl.DataFrame:
    """What slopes explain, in words: `CAUSES_SCHEMA`, a row for each model.

    They tell whether each variant's effect is what steering predicts, and whether what the first token delivers says
    what attention to it does.

    Args:
        mechanism: the table `mechanism`.
        predictions: the table `predictions`; without rows where none were asked for.
        models: names of the models, in the order of the rows.
        words: the template of an answer.
    """
    answers = [
        write(words, predictions=_of_variants(predictions, model), attribution=_of_first_token(mechanism, model))
        for model in models
    ]
    return pl.DataFrame({"model": list(models), "answer": answers}, schema=CAUSES_SCHEMA)


def _of_variants(predictions: pl.DataFrame, model: str) -> list[tuple[str, list[dict[str, Any]]]]:
    """Each variant of a model, with the rows of the metrics of `_ANSWERED`, labelled; none without such a row."""
    variants = []
    for (variant,), rows in predictions.filter(model=model).group_by("variant", maintain_order=True):
        by_cell = {(row["metric"], row["view"]): row for row in rows.iter_rows(named=True)}
        if clauses := [{**by_cell[cell], "label": label} for cell, label in _ANSWERED.items() if cell in by_cell]:
            variants.append((variant, clauses))
    return variants


def _of_first_token(mechanism: pl.DataFrame, model: str) -> dict[str, dict[str, dict[str, Any]]]:
    """The rows on what the first token delivers in a model, by predictor and by where slopes are measured.

    They are those of the originals; there are none where no slope of `first` was asked for.
    """
    rows: dict[str, dict[str, dict[str, Any]]] = {}
    for row in mechanism.filter(model=model, variant=ORIGINAL, pattern="first").iter_rows(named=True):
        rows.setdefault(row["predictor"], {})[row["measured"]] = row
    return rows
