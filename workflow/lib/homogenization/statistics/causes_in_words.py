"""What changed attention explains, in words made from the numbers: the table `causes.csv`."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from homogenization.run.files import read_csv
from homogenization.run.parquet import read_or_empty
from homogenization.statistics.mechanism_in_words import MECHANISM_SCHEMA, of_first_token
from homogenization.statistics.predictions_in_words import PREDICTIONS_SCHEMA, of_variants
from homogenization.vocabulary.columns import columns
from homogenization.vocabulary.prose import write

#: A row for each model with slopes: the answer under *Causes* on the first page of the report.
CAUSES_SCHEMA = {
    **columns("model"),
    #: whether each variant’s effect is what the dial predicts, and whether what the first token delivers tells its
    #: slope, in words
    "answer": pl.String,
}
SCHEMAS = (CAUSES_SCHEMA,)


def causes_table(mechanism: pl.DataFrame, predictions: pl.DataFrame, models: Sequence[str], words: str) -> pl.DataFrame:
    """What slopes explain, in words: `CAUSES_SCHEMA`, a row for each model.

    They tell whether each variant's effect is what the dial predicts, and whether what the first token delivers says
    what attention to it does.

    Args:
        mechanism: the table `mechanism`.
        predictions: the table `predictions`; without rows where none were asked for.
        models: names of the models, in the order of the rows.
        words: the template of an answer.
    """
    answers = [
        write(words, predictions=of_variants(predictions, model), delivered=of_first_token(mechanism, model))
        for model in models
    ]
    return pl.DataFrame({"model": list(models), "answer": answers}, schema=CAUSES_SCHEMA)


def tabulate(inputs: Any, models: Sequence[str], words: str) -> pl.DataFrame:
    """The table `causes.csv` of the tables `inputs.mechanism` and, where it is made, `inputs.predictions`."""
    predictions = read_or_empty(inputs, "predictions", PREDICTIONS_SCHEMA)
    return causes_table(read_csv(inputs.mechanism, MECHANISM_SCHEMA), predictions, models, words)
