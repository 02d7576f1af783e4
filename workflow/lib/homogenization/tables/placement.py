"""Where the key phrases of each variant stood and where they stand."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from homogenization.run.parquet import read_table

PLACEMENT_SCHEMA = {
    "variant": pl.String,
    "review_id": pl.String,
    "phrase": pl.String,
    "sentence": pl.Int64,
    "original_position": pl.Float64,
    "position": pl.Float64,
}


def placement_table(variants: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """One row for each place of a key phrase: the table `placement` (`PLACEMENT_SCHEMA`).

    Positions are fractions of the sentence, 0 its beginning and 1 its end; null where the phrase is the whole sentence.

    Args:
        variants: Rewritten reviews, columns variant, review_id and placements.
    """
    parts = [
        reviews.select("variant", "review_id", "placements")
        .explode("placements")
        .drop_nulls("placements")
        .unnest("placements")
        .select(*PLACEMENT_SCHEMA)
        .cast(PLACEMENT_SCHEMA)
        for reviews in variants
    ]
    return pl.concat([pl.DataFrame(schema=PLACEMENT_SCHEMA), *parts])


def tabulate(inputs: Any) -> pl.DataFrame:
    """The table `placement`.

    Args:
        inputs: `variants`, paths of the rewritten reviews.
    """
    return placement_table([read_table(path) for path in inputs.variants])
