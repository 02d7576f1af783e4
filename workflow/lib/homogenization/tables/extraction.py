"""Time, memory and tokens of the forward passes, from the run records that extraction writes beside its stores."""

from collections.abc import Sequence

import polars as pl

from homogenization.names.columns import columns
from homogenization.run.files import read_json
from homogenization.run.job import announce

#: A row for each extraction, from its run record.
EXTRACTION_SCHEMA = {
    **columns("model", "variant", "shard"),
    "n_reviews": pl.Int64,  #: that were read
    "n_tokens": pl.Int64,  #: that were read
    "n_cut": pl.Int64,  #: reviews longer than `max_tokens` that were cut at a sentence end
    "n_left_out": pl.Int64,  #: reviews that were not read, since they are too long
    "n_tokens_cut_off": pl.Int64,  #: tokens of the read reviews behind their cuts
    "max_tokens": pl.Int64,  #: most tokens of a review
    "seconds_loading": pl.Float64,  #: s, checking the files of weights and loading the model
    "seconds_total": pl.Float64,  #: s, after that: from tokenisation to the finished store
    "seconds_forward": pl.Float64,  #: s, forward passes and received attention
    "seconds_write": pl.Float64,  #: s, writing the store
    "tokens_per_second": pl.Float64,  #: 1/s, over the total
    "peak_memory_mb": pl.Float64,  #: MiB, largest resident memory of the process
    "peak_device_memory_mb": pl.Float64,  #: MiB, allocated on the GPU; null without one
    "device": pl.String,  #: that the model ran on
    "dtype": pl.String,  #: of the forward pass
    "weights": pl.String,  #: where they come from
}
#: A row for each model and variant, from the same records: what was read of reviews longer than the model's context
#: ([states](states.md#how-a-model-is-run)).
LONG_TEXTS_SCHEMA = {
    **columns("model", "variant"),
    "max_tokens": pl.Int64,  #: most tokens of a review
    "n_reviews": pl.Int64,  #: that were read
    "n_cut": pl.Int64,  #: of these, cut at a sentence end
    "n_left_out": pl.Int64,  #: not read
    "n_tokens": pl.Int64,  #: that were read
    "n_tokens_cut_off": pl.Int64,  #: behind the cuts
}
SCHEMAS = EXTRACTION_SCHEMA, LONG_TEXTS_SCHEMA


def tabulate(runs: Sequence[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """A row for each extraction, and what each model read of the reviews of each variant.

    Args:
        runs: files of run records; a field that one lacks is null.

    Returns:
        The tables `extraction` (`EXTRACTION_SCHEMA`), in the order of the records, and `long_texts`
        (`LONG_TEXTS_SCHEMA`).
    """
    records = [read_json(path) for path in runs]
    rows = [{name: record.get(name) for name in EXTRACTION_SCHEMA} for record in records]
    extraction = pl.DataFrame(rows, schema=EXTRACTION_SCHEMA)
    counts = pl.col("n_reviews", "n_cut", "n_left_out", "n_tokens", "n_tokens_cut_off").sum()
    by_variant = extraction.group_by("model", "variant", maintain_order=True)
    long_texts = by_variant.agg(pl.col("max_tokens").first(), counts).select(*LONG_TEXTS_SCHEMA)
    _announce_cuts(long_texts)
    return extraction, long_texts


def _announce_cuts(long_texts: pl.DataFrame) -> None:
    """A line for each model that read less than the texts."""
    for (model,), rows in long_texts.group_by("model", maintain_order=True):
        n_cut, n_left_out = rows["n_cut"].sum(), rows["n_left_out"].sum()
        if n_cut or n_left_out:
            total = rows["n_reviews"].sum() + n_left_out
            announce(
                f"models.{model}: of {total} texts of all variants, {n_cut} are cut at a sentence end and {n_left_out} "
                f"left out, since they have more than {rows['max_tokens'][0]} tokens: tables/long_texts.csv"
            )
