"""The columns of the table `mechanism`, and the rows that its sentence needs."""

from typing import Any

import polars as pl

from homogenization.vocabulary.variants import ORIGINAL

PREDICTORS = ("cosine", "predicted")
MEASURED = ("after_block", "at_output")
RUN = ("model", "variant", "pattern")
ENDS = ("", "_low", "_high")
MECHANISM_SCHEMA = {
    **dict.fromkeys((*RUN, "predictor", "measured"), pl.String),
    **dict.fromkeys(("n_reviews", "n_blocks", "n_positive"), pl.Int64),
    **dict.fromkeys((f"{name}{end}" for name in ("agreement", "rank_correlation") for end in ENDS), pl.Float64),
}


def of_first_token(mechanism: pl.DataFrame, model: str) -> dict[str, dict[str, dict[str, Any]]]:
    """The rows on what the first token delivers in a model, by predictor and by where slopes are measured.

    They are those of the originals; there are none where no slope of `first` was asked for.
    """
    rows: dict[str, dict[str, dict[str, Any]]] = {}
    for row in mechanism.filter(model=model, variant=ORIGINAL, pattern="first").iter_rows(named=True):
        rows.setdefault(row["predictor"], {})[row["measured"]] = row
    return rows
