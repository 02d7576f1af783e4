"""The tokens besides the first that draw attention, are massive or long, over the accepted reviews, by their text."""

from collections.abc import Sequence

import polars as pl

from homogenization.names.columns import columns
from homogenization.run.parquet import read_tables
from homogenization.tables.over_reviews import keep_accepted

#: A row for all secondary sinks of a model, variant and kind (`token` null), then one for each text of such a token;
#: sorted by model, variant, kind and number of reviews. It exists if `positional` is configured. A model and variant
#: without any has no row.
SINKS_TABLE_SCHEMA = {
    **columns("model", "variant"),
    "kind": pl.String,  #: `attention`, `massive` or `long` ([which](causes.md#secondary-sinks))
    "token": pl.String,  #: its text without spaces around it; null for all; `(special)` for a token outside of the text
    "n_reviews": pl.Int64,  #: accepted reviews that have such a token
    "n_read": pl.Int64,  #: accepted reviews that were read
    "n_sinks": pl.Int64,  #: such tokens
    "position": pl.Float64,  #: median position in the review, 0 for the first token
    **dict.fromkeys(("earliest", "latest"), pl.Int64),  #: least and largest position
    "relative_position": pl.Float64,  #: median of position / (number of tokens − 1)
    #: median of the first block; of a long token, of the layer: 0 before the first block, l after block l
    "first_block": pl.Float64,
    "last_block": pl.Float64,  #: median of the last
    #: median of the largest excess: attention received over the larger of uniform attention and 1, norm over the median
    #: norm
    "peak": pl.Float64,
}
SCHEMAS = (SINKS_TABLE_SCHEMA,)
_GROUP = ("model", "variant", "kind")
_SPECIAL = "(special)"  # a token outside of the text, such as the one that ends it


def tabulate(sinks: Sequence[str], variants: Sequence[str], similarity: pl.DataFrame) -> pl.DataFrame:
    """The table `sinks` (`SINKS_TABLE_SCHEMA`): a row for all tokens together (token null), then one for each text.

    Args:
        sinks: files of secondary sinks of all jobs (`measures.sinks.SINKS_SCHEMA`).
        variants: files of the texts that were read.
        similarity: the table `similarity`, which says which reviews are accepted.
    """
    texts = read_tables(variants).select("variant", "review_id", "text")
    accepted = keep_accepted(read_tables(sinks), similarity)
    n_read = accepted.group_by("model", "variant").agg(pl.col("review_id").n_unique().cast(pl.Int64).alias("n_read"))
    rows = accepted.filter(pl.col("kind").is_not_null()).join(
        texts, on=["variant", "review_id"], how="left", validate="m:1"
    )
    span = pl.col("text").str.slice(pl.col("token_start"), pl.col("token_end") - pl.col("token_start"))
    word = span.str.strip_chars()
    rows = rows.with_columns(
        token=pl.when(pl.col("token_end") == 0).then(pl.lit(_SPECIAL)).when(word == "").then(span).otherwise(word),
        place=pl.col("position") / (pl.col("n_tokens") - 1),
    )
    every = rows.with_columns(token=pl.lit(None, dtype=pl.String))
    numbers = (
        pl.col("review_id").n_unique().alias("n_reviews"),
        pl.len().alias("n_sinks"),
        pl.col("position").min().alias("earliest"),
        pl.col("position").max().alias("latest"),
        pl.col("position").median().alias("median_position"),
        pl.col("place").median().alias("relative_position"),
        *(pl.col(name).median() for name in ("first_block", "last_block", "peak")),
    )
    table = pl.concat([every, rows]).group_by(*_GROUP, "token").agg(*numbers).rename({"median_position": "position"})
    table = table.join(n_read, on=["model", "variant"], how="left")
    order = [pl.col(name) for name in _GROUP] + [pl.col("token").is_not_null(), -pl.col("n_reviews"), pl.col("token")]
    return table.select(*SINKS_TABLE_SCHEMA).cast(SINKS_TABLE_SCHEMA).sort(*order)
