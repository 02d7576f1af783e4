"""What the forward passes took: the run records that extraction leaves beside its stores."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

EXTRACTION_SCHEMA = {
    "model": pl.String,
    "variant": pl.String,
    "shard": pl.String,
    "n_reviews": pl.Int64,
    "n_tokens": pl.Int64,
    "n_truncated": pl.Int64,
    "seconds_total": pl.Float64,
    "seconds_forward": pl.Float64,
    "seconds_write": pl.Float64,
    "tokens_per_second": pl.Float64,
    "peak_memory_mb": pl.Float64,
    "device": pl.String,
    "dtype": pl.String,
}


def extraction_table(runs: Sequence[tuple[str, str, str, Mapping[str, Any]]]) -> pl.DataFrame:
    """One row for each extraction: the table `extraction` (`EXTRACTION_SCHEMA`).

    Args:
        runs: (model, variant, shard, run record); what a record does not say is null.
    """
    rows = [
        {**{name: record.get(name) for name in EXTRACTION_SCHEMA}, "model": model, "variant": variant, "shard": shard}
        for model, variant, shard, record in runs
    ]
    return pl.DataFrame(rows, schema=EXTRACTION_SCHEMA)
