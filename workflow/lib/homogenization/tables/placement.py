"""Where the key phrases of each variant stood and where they stand."""

from collections.abc import Sequence

import polars as pl

from homogenization.names.columns import columns
from homogenization.run.parquet import read_table

#: A row for each place of a key phrase, in every variant and all reviews, accepted or not.
PLACEMENT_SCHEMA = {
    **columns("variant", "review_id"),
    "phrase": pl.String,  #: its words, casefolded
    "sentence": pl.Int64,  #: number of the sentence in the original, from 0
    #: words before the phrase / other words of the sentence: 0 is the beginning, 1 the end; null if the phrase is the
    #: sentence
    "original_position": pl.Float64,
    "position": pl.Float64,  #: the same in the variant
}
SCHEMAS = {"placement": PLACEMENT_SCHEMA}


def tabulate(texts: Sequence[str]) -> pl.DataFrame:
    """A row for each place of a key phrase in the files `texts` of rewritten reviews: the table `placement`.

    Positions are fractions of the sentence, 0 its beginning and 1 its end; null where the phrase is the whole sentence.
    """
    parts = [
        read_table(path)
        .select("variant", "review_id", "placements")
        .explode("placements")
        .drop_nulls("placements")
        .unnest("placements")
        .select(*PLACEMENT_SCHEMA)
        .cast(PLACEMENT_SCHEMA)
        for path in texts
    ]
    return pl.concat([pl.DataFrame(schema=PLACEMENT_SCHEMA), *parts])
