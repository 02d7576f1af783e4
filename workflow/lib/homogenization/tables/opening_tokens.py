"""The token that opens each review, as a model reads it in each variant."""

from collections.abc import Sequence

import polars as pl

from homogenization.names.columns import columns
from homogenization.run.parquet import read_tables

#: A row for each review that a model read in a variant. In a model that begins every text with the same token (BOS),
#: all are equal; in others, the first word can change with the variant.
OPENING_TOKENS_SCHEMA = {
    **columns("model", "variant", "review_id"),
    "first_token": pl.Int64,  #: id of the first token
}
SCHEMAS = (OPENING_TOKENS_SCHEMA,)


def tabulate(geometry: Sequence[str]) -> pl.DataFrame:
    """The table `opening_tokens` of the files of token geometry of all jobs, sorted by its keys."""
    rows = read_tables(geometry).select(*OPENING_TOKENS_SCHEMA)
    return rows.unique().sort("model", "variant", "review_id")


def reviews_whose_first_token_stays(openings: pl.DataFrame, model: str, variants: tuple[str, str]) -> list[str] | None:
    """Names of the reviews that begin with the same token in both variants, sorted.

    None where the model did not read one of the two; `openings` is the table `opening_tokens`.
    """
    one, other = (openings.filter(model=model, variant=name).drop_nulls("first_token") for name in variants)
    if one.is_empty() or other.is_empty():
        return None
    return one.join(other, on=("review_id", "first_token"), how="semi")["review_id"].sort().to_list()
