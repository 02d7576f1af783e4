"""How well each model predicts the texts that it reads, and how alike its predictions are."""

from collections.abc import Sequence

import polars as pl

from homogenization.measures.measure import READ_TEXTS_SCHEMA
from homogenization.run.parquet import read_tables
from homogenization.tables.over_reviews import keep_accepted

_LISTS = ("token_starts", "token_ends")
#: A row for each model, variant and review accepted in it. Numbers are null for a model without a language-model head.
PREDICTIONS_SCHEMA = {name: dtype for name, dtype in READ_TEXTS_SCHEMA.items() if name not in _LISTS}
SCHEMAS = {"predictions": PREDICTIONS_SCHEMA}


def tabulate(texts: Sequence[str], similarity: pl.DataFrame) -> pl.DataFrame:
    """The rows of the files `texts` of all jobs whose review is accepted, by `similarity`; in their order."""
    return keep_accepted(read_tables(texts).select(*PREDICTIONS_SCHEMA), similarity)
